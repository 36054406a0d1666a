"""How the process is set up for a run: what it does with memory that was freed."""

from __future__ import annotations

import ctypes
import gc
from types import SimpleNamespace

import pytest
import torch

from guerdon.training import host


@pytest.mark.parametrize(("device", "told"), [("cpu", [host.KEPT, host.GIVEN_BACK]), ("cuda", [])])
def test_freed_memory_is_kept_during_a_run_on_a_cpu_and_given_back_however_it_ends(device, told, monkeypatch):
    settings = []
    monkeypatch.setattr(host, "_set_memory", settings.append)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(gc, "collect", lambda: 0)  # of all that is loaded here: it takes seconds
    with pytest.raises(KeyError), host.undisturbed([SimpleNamespace(device=torch.device(device))]):
        assert settings == told[:1]
        raise KeyError
    assert settings == told


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="another C library")
def test_the_c_library_takes_the_settings():
    library = ctypes.CDLL(None)
    taken = [library.mallopt(*each) for settings in (host.KEPT, host.GIVEN_BACK) for each in settings.items()]
    assert set(taken) == {1}
