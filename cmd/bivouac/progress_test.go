package main

import (
	"math"
	"regexp"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPace(t *testing.T) {
	bytes := func(n int64, _ int) string { return size(n) }
	for _, c := range []struct {
		done, total int64
		took        time.Duration
		amount      func(int64, int) string
		want        string
	}{
		{0, 100, time.Minute, strconv.FormatInt, ""},
		{5, 0, time.Minute, strconv.FormatInt, ""},
		{50, 100, time.Second / 2, strconv.FormatInt, " 50 % "},
		{50, 100, 10 * time.Second, strconv.FormatInt, " 50 %  5/s  10 s left "},
		{1, 100, 10 * time.Second, strconv.FormatInt, " 1 %  16 min 30 s left "},
		{1 << 30, 4 << 30, 2 * time.Second, bytes, " 25 %  512.0 MiB/s  6 s left "},
		{1 << 30, 1 << 50, 10 * time.Second, bytes, " 0 %  102.4 MiB/s  121 d 8 h left "},
		{99_999, 100_000, time.Hour, strconv.FormatInt, " 99 %  27/s  1 s left "},
		{100, 100, 10 * time.Second, strconv.FormatInt, " 100 %  10/s "},
		{7, 5, 2 * time.Second, strconv.FormatInt, " 100 %  2/s "}, // the total was an estimate
	} {
		if got := pace(c.done, c.total, c.took, c.amount); got != c.want {
			t.Errorf("%d of %d in %v: got %q, want %q", c.done, c.total, c.took, got, c.want)
		}
	}
}

// TestPaceOfAnything draws any numbers: the text is short, and has no NaN and no negative number.
func TestPaceOfAnything(t *testing.T) {
	form := regexp.MustCompile(`^( \d{1,3} %(  \d+/s)?(  \d+ (s|min|h|d)( \d+ (s|min|h))? left)? )?$`)
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(-1, math.MaxInt64)
		got := pace(n.Draw(rt, "done"), n.Draw(rt, "total"), time.Duration(n.Draw(rt, "took")), strconv.FormatInt)
		if !form.MatchString(got) {
			rt.Fatalf("got %q", got)
		}
	})
}
