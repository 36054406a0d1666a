-- Has temporary files written where it likes.
-- ends: forbidden, PRAGMA
PRAGMA temp_store_directory = '/tmp'
