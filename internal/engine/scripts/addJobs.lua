-- Adds jobs in order (lifecycle 8.1): to wait, prioritized, delayed or waiting-children.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, now (ms), number of jobs, and for each job:
--            id ("" = the next number), name, data (JSON), opts (JSON),
--            timestamp (ms), delay (ms), priority, lifo (1/0), waits for children (1/0),
--            parent key ("" = none), field parent (JSON), scheduler id ("" = none),
--            deduplication id ("" = none), and with one: ttl (ms), extend, replace, reschedule, keepLastIfActive (1/0)
--
-- Reply    for each job: the id that stands for it, or a code; "1" if it was stored
-- Codes    -5 the parent does not exist; -7 the existing job has another living parent
-- Events   added, then waiting, delayed or waiting-children; duplicated; deduplicated, removed, delayed

-- include: add
-- include: readJob

local now = number()
local reply = {}
for _ = 1, number() do
  local id, stored = addJob(base, readJob(), now, false)
  reply[#reply + 1] = id
  reply[#reply + 1] = stored
end
return reply
