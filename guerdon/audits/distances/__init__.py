"""How far two rewards are apart (EPIC, DARD, STARC), the regret that this should tell, and whether shaping changes anything."""
