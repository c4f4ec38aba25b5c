-- Reads a job with the jobs below it, as far as some limits allow (features 2.8). Jobs that have not ended, and failed
-- ones that are still waited for, are followed before the others, so that what holds a flow up is among the result.
-- Reads only.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id, levels (1 = the job alone), children per job and kind, jobs in all, pending children that
--          may be looked at for those that come first
--
-- Reply    for each job, parents before their children: place of its parent in this list (from 1, 0 = none), how that
--          one sees it (unprocessed, failed, ignored, processed, "" = none), base of its queue, its state, counts of its
--          children (unprocessed, failed, ignored, processed), cells as of includes/row.lua

-- include: state
-- include: splitKey
-- include: row

local rootId, levels, perKind, most, looks = text(), number(), number(), number(), number()

-- size returns what a counting command answers, 0 where the key holds something else.
local function size(command, key)
  local n = redis.pcall(command, key)
  return type(n) == "number" and n or 0
end

-- some returns what a reading command answers, nothing where the key holds something else.
local function some(...)
  local list = redis.pcall(...)
  return list.err and {} or list
end

-- firstOf returns the first keys of a hash.
local function firstOf(hash)
  local keys = {}
  local pairsOfHash = some("HSCAN", hash, 0, "COUNT", perKind)[2] or {}
  for i = 1, math.min(#pairsOfHash, 2 * perKind), 2 do
    keys[#keys + 1] = pairsOfHash[i]
  end
  return keys
end

-- pendingChildren returns the first pending children of a job: those that have failed, then those that wait for children
-- of their own, then the others.
local function pendingChildren(jobKey)
  local failed, parents, others = {}, {}, {}
  for _, key in ipairs(some("SSCAN", jobKey .. ":dependencies", 0, "COUNT", math.max(looks, perKind))[2] or {}) do
    local queue, id = splitKey(key)
    looks = looks - 1
    if looks >= 0 and queue and call("ZSCORE", queue .. "failed", id) then
      failed[#failed + 1] = key
    elseif looks >= 0 and queue and #parents < perKind and call("ZSCORE", queue .. "waiting-children", id) then
      parents[#parents + 1] = key
    elseif #others < perKind then
      others[#others + 1] = key
    end
    if #failed >= perKind or looks < 0 and #others >= perKind then
      break
    end
  end
  for _, list in ipairs({parents, others}) do
    for _, key in ipairs(list) do
      failed[#failed + 1] = key
    end
  end
  return failed
end

-- childrenOf returns the first children of a job by kind.
local function childrenOf(jobKey)
  return {
    {kind = "unprocessed", keys = pendingChildren(jobKey)},
    {kind = "failed", keys = some("ZRANGE", jobKey .. ":unsuccessful", 0, perKind - 1)},
    {kind = "ignored", keys = firstOf(jobKey .. ":failed")},
    {kind = "processed", keys = firstOf(jobKey .. ":processed")},
  }
end

local reply, seen = {}, {}

-- add appends a job to the result and returns its place, nil if it is there already or there is no room.
local function add(parent, kind, queue, id)
  local key = queue .. id
  if seen[key] or #reply >= most then
    return nil
  end
  seen[key] = true
  local counts = {
    size("SCARD", key .. ":dependencies"), size("ZCARD", key .. ":unsuccessful"), size("HLEN", key .. ":failed"),
    size("HLEN", key .. ":processed"),
  }
  reply[#reply + 1] = {parent, kind, queue, stateOf(queue, id), counts, safeRow(queue, id)}
  return #reply
end

-- Jobs whose children are still to be read: of those that matter for what holds the flow up, and of the rest.
local open, ended = {}, {}

-- follow notes the children of a job for later.
local function follow(place, queue, id, level, matters)
  if place and level < levels then
    local list = matters and open or ended
    list[#list + 1] = {place = place, key = queue .. id, level = level}
  end
end

-- expand adds the children of a job.
local function expand(job)
  for _, group in ipairs(childrenOf(job.key)) do
    for i = 1, math.min(#group.keys, perKind) do
      local queue, id = splitKey(group.keys[i])
      if queue then
        local place = add(job.place, group.kind, queue, id)
        follow(place, queue, id, job.level + 1, group.kind == "unprocessed")
      end
    end
  end
end

follow(add(0, "", base, rootId), base, rootId, 1, true)
local nextOpen, nextEnded = 1, 1
while nextOpen <= #open or nextEnded <= #ended do
  if nextOpen <= #open then
    expand(open[nextOpen])
    nextOpen = nextOpen + 1
  else
    expand(ended[nextEnded])
    nextEnded = nextEnded + 1
  end
end
return reply
