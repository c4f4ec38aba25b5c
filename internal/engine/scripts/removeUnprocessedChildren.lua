-- Deletes the children of a job that have not ended; those held by a worker and failed ones stay (features 2.9).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id
--
-- Reply    0
-- Events   removed; waiting of the job

-- include: tree

local id = text()
removeChildren({key = base .. id, base = base, id = id}, true, {})
return 0
