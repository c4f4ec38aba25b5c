-- include: store

-- readIteration reads the job a scheduler produces: name, data (JSON), opts (JSON object with at least one member,
-- without jobId and delay), priority, lifo (1/0), deduplication id ("" = none).
local function readIteration()
  return {name = text(), data = text(), opts = text(), priority = number(), lifo = flag(), dedupId = text()}
end

local function iterationId(scheduler, millis)
  return "repeat:" .. scheduler .. ":" .. whole(millis)
end

-- currentMillis returns the time of a scheduler's current iteration, nil if there is no such scheduler.
local function currentMillis(scheduler)
  return tonumber(call("ZSCORE", base .. "repeat", scheduler) or "")
end

-- nextOfInterval returns when an interval scheduler fires next, and the offset of its phase (features 1.4). previous is
-- nil for the first time.
local function nextOfInterval(previous, every, now, offset, startDate)
  local slot = math.floor(now / every) * every + offset
  local millis
  if previous then
    millis = previous + every
    if millis < now then
      millis = slot > now and slot or slot + every
    end
  elseif startDate then
    millis = math.max(startDate, now)
  elseif offset > 0 then
    millis = slot > now and slot or slot + every
  else
    millis = now
  end
  if offset == 0 then
    offset = millis - math.floor(millis / every) * every
  end
  return math.floor(millis), math.floor(offset)
end

-- addIteration stores and queues the job of one firing, and returns its delay.
local function addIteration(scheduler, millis, job, now)
  local id = iterationId(scheduler, millis)
  call("INCR", base .. "id")
  maxEvents(base)
  job.timestamp, job.delay, job.scheduler = now, math.max(millis - now, 0), scheduler
  job.opts = '{"jobId":' .. cjson.encode(id) .. ',"delay":' .. whole(job.delay) .. "," .. string.sub(job.opts, 2)
  storeJob(base, id, job)
  enqueueNew(base, id, job)
  return job.delay
end
