-- Reads a database of the user's by attaching its file.
-- ends: forbidden, ATTACH
ATTACH DATABASE '{database}' AS theirs
