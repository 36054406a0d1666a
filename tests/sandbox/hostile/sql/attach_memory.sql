-- Attaches a second database, which no limit knows.
-- ends: forbidden, ATTACH
ATTACH DATABASE ':memory:' AS more
