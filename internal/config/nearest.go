package config

import "unicode/utf8"

// Nearest returns the candidate with the smallest edit distance to word, and that distance; the first of equals wins.
// It returns "" when there are no candidates.
func Nearest(word string, candidates []string) (best string, distance int) {
	distance = -1
	for _, c := range candidates {
		if d := editDistance(word, c); distance < 0 || d < distance {
			best, distance = c, d
		}
	}
	return best, distance
}

// editDistance counts insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	var before []int
	prev := make([]int, utf8.RuneCountInString(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row := make([]int, len(prev))
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(t)]
}
