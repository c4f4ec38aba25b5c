-- include: call

-- readDedup reads the deduplication option of a new job, nil if it has none.
local function readDedup()
  local id = text()
  if id == "" then
    return nil
  end
  return {
    id = id, ttl = number(), extend = flag(), replace = flag(), reschedule = flag(), keepLast = flag(),
  }
end

-- readJob reads a new job as addJobs describes it.
local function readJob()
  local job = {
    id = text(), name = text(), data = text(), opts = text(), timestamp = number(), delay = number(),
    priority = number(), lifo = flag(), waitsForChildren = flag(),
  }
  local parentKey, parentJSON = text(), text()
  if parentKey ~= "" then
    job.parent = {key = parentKey, json = parentJSON}
  end
  job.scheduler = text()
  job.dedup = readDedup()
  job.dedupId = job.dedup and job.dedup.id
  return job
end
