-- Takes a pending child from its parent, which is released if it was the last one (features 2.9).
--
-- KEYS[1]  meta of the child's queue
-- ARGV     legacy pause, id of the child, key of the parent
--
-- Reply    0 done; 1 the child was not pending; -1 no hash of the child; -5 no hash of the parent
-- Events   waiting of the parent

-- include: record

local key, parentKey = base .. text(), text()
if call("EXISTS", key) == 0 then
  return -1
end
if call("EXISTS", parentKey) == 0 then
  return -5
end
if call("SISMEMBER", parentKey .. ":dependencies", key) == 0 then
  return 1
end
local fields = call("HMGET", key, "parentKey", "parent")
detach(key, parentOf(parentKey, fields[1] == parentKey and fields[2]))
call("HDEL", key, "parentKey", "parent")
return 0
