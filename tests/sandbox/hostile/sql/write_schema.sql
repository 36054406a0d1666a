-- Makes the schema writable.
-- ends: forbidden, PRAGMA
PRAGMA writable_schema = ON
