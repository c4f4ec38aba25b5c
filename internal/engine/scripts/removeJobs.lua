-- Deletes jobs wherever they are, with all that belongs to them and, if asked, with the jobs below them (lifecycle
-- 8.16, features 2.9).
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, with children (1/0), state the jobs must be in ("" for any), number of ids, these
--
-- Reply    codes of the jobs
-- Codes    0 done, also if there was nothing; -3 in another state, or in none; -8 current iteration of a scheduler; -20 held by a worker, it or an
--            unfinished job below it; -30 damaged keys
-- Events   removed; waiting of a parent

-- include: state
-- include: tree

local children, state = flag(), text()

local function remove(id)
  if state ~= "" and not isInState(base, id, state) then
    return -3
  end
  if isCurrentIteration(base, id) then
    return -8
  end
  if isHeld(base .. id, children, {}) then
    return -20
  end
  leaveParent(base .. id)
  removeTree(base, id, children, false, {})
  return 0
end

local codes = {}
for i, id in ipairs(texts()) do
  codes[i] = attempt(remove, id)
end
return codes
