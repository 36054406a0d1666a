-- Asks for a value of two gigabytes.
-- ends: raised|memory|output
SELECT hex(zeroblob(999999999))
