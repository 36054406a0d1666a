"""The types of requests and responses: requests are checked by them, and `/docs` shows them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from guerdon.core.json_values import json_value
from guerdon.rewards.stage.scorer import SampleScores


class SampleIn(BaseModel):
    """One sample's fields. A reward's arguments are filled from them by name; any other name may be added."""

    model_config = ConfigDict(extra="allow", strict=True)

    completion: str = Field(description="what the model wrote: its last turn")
    prompt: str | None = Field(None, description="what it was asked")
    answer: Any = Field(None, description="the task's answer")
    turns: list[str] | None = Field(None, description="the text of every turn")
    level: int | None = None
    role: str | None = None
    actions: list[int] | None = Field(
        None,
        description="the completion's token ids, for rewards that count tokens; else the server's --tokenizer counts",
    )
    meta: dict[str, Any] | None = Field(None, description="more fields; the same as giving them beside the others")


class ScoreRequest(BaseModel):
    """Samples to score, in one request."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {
                    "samples": [
                        {"prompt": "2+2=", "completion": "4", "answer": "4"},
                        {"prompt": "2+2=", "completion": "5", "answer": "4"},
                    ],
                    "group": [0, 0],
                }
            ]
        },
    )

    samples: list[SampleIn] = Field(min_length=1)
    group: list[int] | None = Field(
        None, description="a number for each sample: tries at one prompt have the same; without it, all are"
    )


class ComponentScore(BaseModel):
    """A score, or the reason why there is none: `value` is a number exactly where `reason` is `value`."""

    value: float | None
    reason: Literal["value", "not_applicable", "failed", "timed_out"]


class SampleResult(ComponentScore):
    detail: Any = Field(description="the reason or the error; null if there is none")
    components: dict[str, ComponentScore] = Field(description="the same for each named part of the formula")


class ScoreResponse(BaseModel):
    """One result for each sample, in the order of the samples."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "results": [
                        {
                            "value": 0.98,
                            "reason": "value",
                            "detail": None,
                            "components": {
                                "exact": {"value": 1.0, "reason": "value"},
                                "brief": {"value": -2.0, "reason": "value"},
                            },
                        }
                    ]
                }
            ]
        }
    )

    results: list[SampleResult]


class OpenRLHFRequest(BaseModel):
    """What OpenRLHF's remote reward client sends."""

    model_config = ConfigDict(
        extra="allow",
        strict=True,
        json_schema_extra={"examples": [{"query": ["2+2=4</s>"], "prompts": ["2+2="], "labels": ["4"]}]},
    )

    query: list[str] = Field(description="prompt and completion as one text")
    prompts: list[str]
    labels: list[Any] | None = Field(None, description="a label is the sample's answer")


class OpenRLHFResponse(BaseModel):
    """What OpenRLHF's remote reward client reads."""

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


class ErrorResponse(BaseModel):
    """What is wrong, in one line."""

    error: str


def score_response(scored: SampleScores) -> dict[str, Any]:
    """Scores as `ScoreResponse` has them, without the class: to check our own numbers again costs as much as scoring."""
    parts = {name: (part, scored.part_reasons[name]) for name, part in scored.parts.items()}
    return {
        "results": [
            {
                "value": value,
                "reason": scored.reasons[n].name.lower(),
                "detail": json_value(scored.details[n]),
                "components": {
                    name: {"value": values[n], "reason": reasons[n].name.lower()}
                    for name, (values, reasons) in parts.items()
                },
            }
            for n, value in enumerate(scored.whole)
        ]
    }
