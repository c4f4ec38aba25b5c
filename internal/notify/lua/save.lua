-- save: notes what was told.
--
-- KEYS[1] hash, as in hold
-- ARGV[1] who asks
-- ARGV[2..] fields and values in turn; an empty value removes the field
--
-- returns 1, or 0 if it is another one's turn
if redis.call('HGET', KEYS[1], 'sender') ~= ARGV[1] then
  return 0
end
for i = 2, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[i])
  else
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return 1
