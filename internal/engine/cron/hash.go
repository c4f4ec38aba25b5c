package cron

import "unicode/utf16"

// fnv1a is the 32-bit FNV-1a hash over the UTF-16 units of s.
func fnv1a(s string) uint32 {
	h := uint32(2166136261)
	for _, unit := range utf16.Encode([]rune(s)) {
		h ^= uint32(unit)
		h *= 16777619
	}
	return h
}

// mulberry32 returns a generator of numbers in [0, 1) from a 32-bit seed.
func mulberry32(state uint32) func() float64 {
	return func() float64 {
		state += 0x6d2b79f5
		z := state
		z = (z ^ z>>15) * (z | 1)
		z ^= z + (z^z>>7)*(z|61)
		return float64(z^z>>14) / (1 << 32)
	}
}
