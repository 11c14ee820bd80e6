package main

import (
	"fmt"
	"strings"
)

// An allowance lets one sentence of a file stay.
type allowance struct {
	file   string
	text   string // of the sentence; a pattern that matches within it is no finding
	reason string
}

var allowances = []allowance{}

// usedAllowances counts how often each allowance was needed.
var usedAllowances = map[allowance]int{}

// allowed reports whether the pattern at s[at] lies in a text that may stay.
func allowed(file, s string, at int) bool {
	for _, a := range allowances {
		if a.file != file {
			continue
		}
		from := 0
		for {
			i := strings.Index(s[from:], a.text)
			if i < 0 {
				break
			}
			if from+i <= at && at < from+i+len(a.text) {
				usedAllowances[a]++
				return true
			}
			from += i + 1
		}
	}
	return false
}

// staleAllowances returns the allowances that no finding needed.
func staleAllowances() (out []string) {
	for _, a := range allowances {
		if usedAllowances[a] == 0 {
			out = append(out, fmt.Sprintf("%s: %q", a.file, a.text))
		}
	}
	return out
}
