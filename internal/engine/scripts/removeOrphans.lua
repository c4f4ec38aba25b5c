-- Deletes jobs that are in no state, with all that belongs to them (lifecycle 8.22). What is no job stays: a key that
-- is no hash, and a hash that has none of a job's fields.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, at most this many, number of ids, these
--
-- Reply    the ids of the deleted jobs
-- Events   waiting of a parent

-- include: record
-- include: state
-- include: util

local function isJobOrNothing(key)
  local type = call("TYPE", key).ok
  if type ~= "hash" then
    return type == "none"
  end
  for _, field in ipairs({"name", "data", "opts", "ats"}) do
    if call("HEXISTS", key, field) == 1 then
      return true
    end
  end
  return false
end

local function isOrphan(id)
  return isJobOrNothing(base .. id) and stateOf(base, id) == "unknown" and call("SISMEMBER", base .. "stalled", id) == 0
end

local function remove(id)
  removeRecord(base, id, nil, true)
end

local limit, gone = number(), {}
for _, id in ipairs(texts()) do
  if #gone < limit and attempt(isOrphan, id) == true then
    attempt(remove, id)
    deleteJobKeys(base .. id)
    call("DEL", base .. id .. ":lock")
    gone[#gone + 1] = id
  end
end
return gone
