-- Adds trees of jobs, parents before their children, in any queues (features 2.2). A parent whose children have all
-- ended before is released at the end.
--
-- KEYS[1]  meta of one of the queues
-- ARGV     legacy pause, now (ms), number of jobs, and for each job the base of its queue and then what addJobs reads
--
-- Reply    for each job: the id that stands for it, or a code; "1" if it was stored
-- Codes    -5 the parent does not exist; -7 the existing job has another living parent
-- Events   those of addJobs; waiting or delayed of a released parent

-- include: add
-- include: readJob

local now = number()

-- releaseComplete makes a parent ready that turned out to have nothing to wait for, unless one of its children could
-- not be attached to it.
local function releaseComplete(parent)
  if call("HDEL", parent.key, "flowAttachmentFailed") == 0 then
    releaseIfNothingPending(parent, now)
  end
end

local reply, parents, known = {}, {}, {}
for _ = 1, number() do
  local queue = text()
  local job = readJob()
  local id, stored = addJob(queue, job, now, true)
  reply[#reply + 1] = id
  reply[#reply + 1] = stored
  if job.parent and not known[job.parent.key] then
    known[job.parent.key] = true
    parents[#parents + 1] = parentOf(job.parent.key, job.parent.json)
  end
end
for _, parent in ipairs(parents) do
  releaseComplete(parent)
end
return reply
