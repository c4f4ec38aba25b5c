-- Puts finished jobs back to wait or prioritized (lifecycle 8.20); children become pending for their parents again.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, state they leave (completed or failed), set attempts to zero (1/0), number of ids, these
--
-- Reply    codes of the jobs
-- Codes    0 done; -1 no hash, and the id is dropped; -3 not in that state; -30 damaged keys
-- Events   waiting (prev completed or failed)

-- include: reprocess

local from, resetAttempts = text(), flag()

local codes = {}
for i, id in ipairs(texts()) do
  codes[i] = attempt(reprocess, base, id, from, resetAttempts)
end
return codes
