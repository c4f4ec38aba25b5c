-- Takes ready jobs for a worker (lifecycle 8.5): promotes delayed jobs that are due, then serves wait before
-- prioritized, asking the limiter, the pause flag and the global concurrency before each job.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), count, token, lock duration (ms), worker name ("" = none),
--            limiter max ("" = none), limiter duration (ms, "" = none)
--
-- Reply    ms the queue stays rate limited; time (ms) when the first delayed job is due, 0 unless ready jobs ran out,
--            now or earlier if one script was not to go on; then for each job taken its id and its hash as list of
--            fields and values
-- Events   waiting (prev delayed), active

-- include: take

local now = number()
local _, reply = take(base, now, readTaker())
return reply
