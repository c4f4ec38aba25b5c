-- include: record

-- removeBulk deletes jobs that the caller takes out of their list or set, and returns how many (lifecycle P12, the hard
-- way: parents of this queue go with their last child).
local function removeBulk(ids)
  for _, id in ipairs(ids) do
    removeAnyway(base, id, base, true)
  end
  return #ids
end

-- currentIterations returns the ids of the jobs that schedulers count on, as a set, and how many there are.
local function currentIterations()
  local ids, n = {}, 0
  local members = call("ZRANGE", base .. "repeat", 0, -1, "WITHSCORES")
  for i = 1, #members, 2 do
    ids["repeat:" .. members[i] .. ":" .. whole(tonumber(members[i + 1]))] = true
    n = n + 1
  end
  return ids, n
end
