package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// since is the value of a flag for a time, given as an age or as a time. The zero value is before
// everything.
type since struct {
	at   time.Time
	text string
}

// Set implements pflag.Value.
func (s *since) Set(text string) error {
	s.text = text
	if age, err := parseAge(text); err == nil {
		s.at = time.Now().Add(-age)
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			s.at = at
			return nil
		}
	}
	return &errs.Error{Kind: errs.Invalid, Want: "an age such as 36h or 7d, a date such as 2026-01-31, or a time of RFC 3339", Got: strconv.Quote(text)}
}

// String implements pflag.Value.
func (s *since) String() string { return s.text }

// Type implements pflag.Value.
func (s *since) Type() string { return "time" }

// ages are the units of ages that time.ParseDuration does not have. A month has 30 days, as no
// calendar is asked.
var ages = []struct {
	unit string
	is   time.Duration
}{{"y", 365 * 24 * time.Hour}, {"mo", 30 * 24 * time.Hour}, {"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}}

// parseAge parses a span of time as people write it: 90m, 36h, 7d, 2w, 1y6mo, 1d12h.
func parseAge(text string) (time.Duration, error) {
	wrong := &errs.Error{Kind: errs.Invalid, Want: "a span of time such as 90m, 36h, 7d, 2w or 1y6mo",
		Got: strconv.Quote(text)}
	var sum time.Duration
	rest := text
	for _, a := range ages {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		after, ok := strings.CutPrefix(rest[len(digits):], a.unit)
		if !ok || digits == "" {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil || n > int64(math.MaxInt64/a.is) || sum > math.MaxInt64-time.Duration(n)*a.is {
			return 0, wrong
		}
		sum += time.Duration(n) * a.is
		rest = after
	}
	if rest == "" && text != "" {
		return sum, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || sum > math.MaxInt64-d {
		return 0, wrong
	}
	return sum + d, nil
}

// age is the value of a flag for a span of time.
type age time.Duration

// span returns the span of time.
func (a age) span() time.Duration { return time.Duration(a) }

// Set implements pflag.Value.
func (a *age) Set(s string) error {
	d, err := parseAge(s)
	*a = age(d)
	return err
}

// String implements pflag.Value.
func (a *age) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

// Type implements pflag.Value.
func (a *age) Type() string { return "time" }

// sample is the value of a flag for a part of the steps of a run. The zero value is all.
type sample struct {
	share       float64 // of 1, drawn at random
	part, parts int     // or one of several parts
}

// Set implements pflag.Value.
func (s *sample) Set(text string) error {
	*s = sample{}
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		if n, err := strconv.ParseFloat(percent, 64); err == nil && n > 0 && n <= 100 {
			s.share = n / 100
			return nil
		}
	}
	if part, of, ok := strings.Cut(text, "/"); ok {
		n, err := strconv.Atoi(part)
		m, err2 := strconv.Atoi(of)
		if err == nil && err2 == nil && n >= 1 && n <= m {
			s.part, s.parts = n, m
			return nil
		}
	}
	return &errs.Error{Kind: errs.Invalid, Want: "a share above 0 such as 5%, or a part such as 3/20",
		Got: strconv.Quote(text)}
}

// String implements pflag.Value.
func (s *sample) String() string {
	switch {
	case s.parts > 0:
		return fmt.Sprintf("%d/%d", s.part, s.parts)
	case s.share > 0:
		return strconv.FormatFloat(s.share*100, 'g', -1, 64) + "%"
	}
	return ""
}

// Type implements pflag.Value.
func (s *sample) Type() string { return "part" }

// all reports whether the sample is all steps.
func (s *sample) all() bool { return s.share == 0 && s.parts == 0 }

// of returns the sample of the steps of a run, in their order. A share is rounded up. A step is
// always in the same one of several parts, whatever other steps there are.
func (s *sample) of(steps []resolved) []resolved {
	switch {
	case s.parts > 0:
		return slices.DeleteFunc(slices.Clone(steps), func(r resolved) bool {
			h := fnv.New32a()
			h.Write([]byte(place(place(r.path).parent()).base() + "/" +
				place(r.path).base())) //nolint:errcheck // it never fails
			return int(h.Sum32()%uint32(s.parts)) != s.part-1
		})
	case s.share > 0:
		n := int(math.Ceil(s.share * float64(len(steps))))
		chosen := rand.Perm(len(steps))[:n]
		slices.Sort(chosen)
		out := make([]resolved, n)
		for i, at := range chosen {
			out[i] = steps[at]
		}
		return out
	}
	return steps
}
