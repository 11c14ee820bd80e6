// Package streamtest tests implementations of stream.Stream against their contract.
//
//	func TestStream(t *testing.T) {
//		streamtest.Run(t, streamtest.Suite[[]byte]{
//			New:  func() (stream.Stream[[]byte], error) { return open(…) },
//			Text: func(b []byte) string { return string(b) },
//		})
//	}
package streamtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/stream"
)

// Suite says how to make and compare the streams under test.
type Suite[T any] struct {
	// New returns a stream at its start. All streams deliver the same values.
	New func() (stream.Stream[T], error)
	// Text returns a text that is equal only for equal values. It must not keep the value. nil means
	// fmt.Sprint.
	Text func(T) string
	// Values is how many values are compared, over all passes. 0 means 40.
	Values int
	// Foreign are states that the stream must reject. Run also tries bytes that are not a state of any
	// stream.
	Foreign [][]byte
}

// end stands for io.EOF among the delivered values.
const end = "EOF"

// Run tests the contract. Each law is a test of its own.
func Run[T any](t *testing.T, s Suite[T]) {
	if s.Text == nil {
		s.Text = func(v T) string { return fmt.Sprint(v) }
	}
	if s.Values == 0 {
		s.Values = 40
	}
	for _, law := range []struct {
		name string
		hold func(*testing.T, Suite[T])
	}{
		{"TwoEndsAreTheEnd", twoEnds[T]},
		{"StateIsThePosition", position[T]},
		{"StateChangesNothing", taking[T]},
		{"SetStateInTheMiddle", moving[T]},
		{"RefusedStateKeepsThePosition", refused[T]},
		{"EndedContextKeepsThePosition", cancelled[T]},
		{"ResetBeginsAPass", resetting[T]},
		{"Close", closed[T]},
	} {
		t.Run(law.name, func(t *testing.T) { law.hold(t, s) })
	}
}

// open returns a new stream. The test closes it at its end.
func (s Suite[T]) open(t *testing.T) stream.Stream[T] {
	t.Helper()
	st, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return st
}

// pull returns the text of the next value, or end.
func (s Suite[T]) pull(t *testing.T, st stream.Stream[T]) string {
	t.Helper()
	v, err := st.Next(t.Context())
	switch {
	case errors.Is(err, io.EOF):
		return end
	case err != nil:
		t.Fatalf("Next: %v", err)
	}
	return s.Text(v)
}

// take returns up to n values, ends of passes included. It stops after two ends in a row.
func (s Suite[T]) take(t *testing.T, st stream.Stream[T], n int) (got []string) {
	t.Helper()
	for values := 0; values < n; {
		v := s.pull(t, st)
		if v == end && len(got) > 0 && got[len(got)-1] == end {
			return append(got, end)
		}
		if got = append(got, v); v != end {
			values++
		}
	}
	return got
}

// values returns the delivered values without the ends of passes.
func values(got []string) []string {
	return slices.DeleteFunc(slices.Clone(got), func(v string) bool { return v == end })
}

func save[T any](t *testing.T, st stream.Stream[T]) []byte {
	t.Helper()
	b, err := st.AppendState(nil)
	if err != nil {
		t.Fatalf("AppendState: %v", err)
	}
	return b
}

// After two ends in a row there are only ends. SetState moves the stream away from them.
func twoEnds[T any](t *testing.T, s Suite[T]) {
	st := s.open(t)
	start := save(t, st)
	got := s.take(t, st, s.Values)
	if len(values(got)) == 0 {
		t.Fatal("the stream has no values")
	}
	if n := len(got); n < 2 || got[n-1] != end || got[n-2] != end {
		t.Logf("no end within %d values", s.Values)
		return
	}
	for range 3 {
		if v := s.pull(t, st); v != end {
			t.Fatalf("%s behind the end of the stream", v)
		}
	}
	if err := st.SetState(start); err != nil {
		t.Fatalf("SetState behind the end: %v", err)
	}
	if again := s.take(t, st, s.Values); !slices.Equal(values(again), values(got)) {
		t.Errorf("from the start again: %q, want %q", again, got)
	}
}

// A state that is taken after any value, or after the end of a pass, moves another stream to the
// values that followed, ends of passes included.
func position[T any](t *testing.T, s Suite[T]) {
	all := s.take(t, s.open(t), s.Values)
	for n := 0; n <= len(all); n++ {
		st := s.open(t)
		for range n {
			s.pull(t, st)
		}
		state := save(t, st)
		other, third := s.open(t), s.open(t)
		if err := other.SetState(state); err != nil {
			t.Fatalf("state behind %d: %v", n, err)
		}
		if err := third.SetState(save(t, other)); err != nil {
			t.Fatalf("state of a stream that was set behind %d: %v", n, err)
		}
		if waits(st, all, n) {
			continue
		}
		s.follows(t, third, all[n:], fmt.Sprintf("behind %d, saved twice", n))
		s.follows(t, other, all[n:], fmt.Sprintf("behind %d", n))
	}
}

// waits reports whether a stream waits for Reset after n values. Setting a stream to that state may
// begin the next pass; the test of Reset covers the rest.
func waits[T any](st stream.Stream[T], all []string, n int) bool {
	_, ok := st.(stream.Resetter)
	return ok && n > 0 && all[n-1] == end
}

// follows checks the values that a stream returns next.
func (s Suite[T]) follows(t *testing.T, st stream.Stream[T], want []string, where string) {
	t.Helper()
	for i, w := range want {
		if got := s.pull(t, st); got != w {
			t.Fatalf("%s: value %d is %s, want %s of %q", where, i, got, w, want)
		}
	}
}

// AppendState appends to its argument, returns the same state twice, and changes no later value.
func taking[T any](t *testing.T, s Suite[T]) {
	all := s.take(t, s.open(t), s.Values)
	st := s.open(t)
	for i, want := range all {
		first := save(t, st)
		second, err := st.AppendState([]byte("before "))
		if err != nil || string(second) != "before "+string(first) {
			t.Fatalf("behind %d: %q, then %q, %v", i, first, second, err)
		}
		if got := s.pull(t, st); got != want {
			t.Fatalf("value %d: %s, want %s", i, got, want)
		}
	}
}

// SetState drops prefetched values when it moves a stream from any position to any other one.
func moving[T any](t *testing.T, s Suite[T]) {
	st := s.open(t)
	states := [][]byte{save(t, st)}
	var all []string
	for range s.Values {
		v := s.pull(t, st)
		if all = append(all, v); v == end && len(all) > 1 && all[len(all)-2] == end {
			break
		}
		states = append(states, save(t, st))
	}
	for i := range states {
		to := (i*7 + 3) % len(states)
		if err := st.SetState(states[to]); err != nil {
			t.Fatalf("SetState to %d: %v", to, err)
		}
		if want := all[to:]; !waits(st, all, to) {
			s.follows(t, st, want[:min(4, len(want))], fmt.Sprintf("moved after %d", to))
		}
	}
}

// SetState rejects bytes that are not a state, and the stream stays where it is.
func refused[T any](t *testing.T, s Suite[T]) {
	all := s.take(t, s.open(t), s.Values)
	st := s.open(t)
	s.pull(t, st)
	for _, bad := range append([][]byte{[]byte("not a state"), []byte("{"), []byte(`{"a":1}`), {0xff, 0}}, s.Foreign...) {
		if err := st.SetState(bad); err == nil {
			t.Errorf("%q was taken for a state", bad)
		}
	}
	if got := values(s.take(t, st, 3)); !slices.Equal(got, values(all[1:])[:len(got)]) {
		t.Errorf("after rejected states: %q, want %q", got, all[1:])
	}
}

// A context that has ended makes Next fail, or changes nothing. No value is lost.
func cancelled[T any](t *testing.T, s Suite[T]) {
	all := s.take(t, s.open(t), s.Values)
	st := s.open(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var got []string
	for i := range all {
		v, err := st.Next(over)
		switch {
		case err == nil:
			got = append(got, s.Text(v))
			continue
		case errors.Is(err, io.EOF):
			got = append(got, end)
			continue
		}
		if v := s.pull(t, st); v != all[i] {
			t.Fatalf("value %d after the context ended: %s, want %s", i, v, all[i])
		}
		got = append(got, all[i])
	}
	if !slices.Equal(got, all) {
		t.Errorf("got %q, want %q", got, all)
	}
}

// A stream.Resetter ignores Reset within a pass. At the end of a pass, Next returns only ends until
// Reset is called, and then the values of the next pass. States of that pass lead to its values.
func resetting[T any](t *testing.T, s Suite[T]) {
	st := s.open(t)
	r, ok := st.(stream.Resetter)
	if !ok {
		t.Skip("the stream is not a stream.Resetter")
	}
	reset := func(r stream.Resetter) {
		t.Helper()
		if err := r.Reset(); err != nil {
			t.Fatalf("Reset: %v", err)
		}
	}
	all := s.take(t, s.open(t), s.Values)
	var passes [][]string
	for range 3 {
		var pass []string
		for len(pass) < s.Values {
			reset(r)
			v := s.pull(t, st)
			if v == end {
				break
			}
			pass = append(pass, v)
		}
		if len(pass) == s.Values {
			t.Logf("no end within %d values", s.Values)
			return
		}
		if v := s.pull(t, st); v != end {
			t.Fatalf("%s behind the end of a pass, before Reset", v)
		}
		other := s.open(t)
		if err := other.SetState(save(t, st)); err != nil {
			t.Fatalf("SetState: %v", err)
		}
		reset(r)
		next := s.pull(t, st)
		if v := s.pull(t, other); v != end && v != next {
			t.Fatalf("after the state of the end of a pass: %s, want %s", v, next)
		} else if v == end {
			reset(other.(stream.Resetter))
			if v := s.pull(t, other); v != next {
				t.Fatalf("after the state of the end of a pass, and Reset: %s, want %s", v, next)
			}
		}
		passes = append(passes, append(pass, next))
		if err := st.SetState(save(t, st)); err != nil {
			t.Fatalf("SetState: %v", err)
		}
	}
	if first := values(all); !slices.Equal(passes[0][:len(passes[0])-1], first) {
		t.Errorf("the first pass is %q, without Reset %q", passes[0], first)
	}
}

// Close may be called twice. After Close, Next fails.
func closed[T any](t *testing.T, s Suite[T]) {
	st := s.open(t)
	s.pull(t, st)
	for range 2 {
		if err := st.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	if _, err := st.Next(t.Context()); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("Next after Close: %v, want an error that is not the end", err)
	}
}
