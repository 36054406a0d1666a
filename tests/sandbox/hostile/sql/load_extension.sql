-- Loads a library into the process.
-- ends: forbidden|raised
SELECT load_extension('libc.so.6')
