-- Writes a copy of the database into a file.
-- ends: forbidden
VACUUM INTO '/tmp/guerdon-left.db'
