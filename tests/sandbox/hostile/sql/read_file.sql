-- Reads a file with the function of SQLite's own shell.
-- ends: raised|forbidden
SELECT readfile('{secret_file}')
