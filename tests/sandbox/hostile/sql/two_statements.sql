-- Hides a second statement behind the first.
-- ends: raised|forbidden
SELECT 1; ATTACH DATABASE '{database}' AS theirs
