package buckettest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// together runs n functions at the same time and returns their errors.
func together(n int, f func(i int) error) []error {
	out, start := make([]error, n), make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			out[i] = f(i)
		})
	}
	close(start)
	all.Wait()
	return out
}

// lost reports whether err says that another request won.
func lost(err error) bool {
	return errors.Is(err, object.ErrCondition) || errors.Is(err, object.ErrConflict)
}

// oneWins fails unless at most one of all has no error, and the object is what the winner wrote. A
// reply may be lost in a race, when the server closes a connection before it has read everything:
// then the winner may be one whose reply was lost.
func (k *bench) oneWins(key string, contents func(int) []byte, all []error) (winner int) {
	k.t.Helper()
	winner = -1
	var unknown []int
	for i, err := range all {
		switch {
		case err == nil && winner >= 0:
			k.t.Fatalf("%s: %d and %d won", key, winner, i)
		case err == nil:
			winner = i
		case errors.Is(err, object.ErrUnknown):
			unknown = append(unknown, i)
		case !lost(err):
			k.t.Fatalf("%s: %v", key, err)
		}
	}
	if winner < 0 && len(unknown) > 0 {
		b, _, err := k.Read(ctx(), key, k.Limits().MaxPut)
		if err != nil {
			k.t.Fatal(err)
		}
		if at := slices.IndexFunc(unknown, func(i int) bool { return bytes.Equal(b, contents(i)) }); at >= 0 {
			winner = unknown[at]
		}
	}
	if winner < 0 {
		k.t.Fatalf("%s: nobody won", key)
	}
	k.holds(key, contents(winner))
	return winner
}

func onePutOfManyWins(t *testing.T, k *bench) {
	const racers, rounds = 16, 10
	for _, size := range []int{10, 3 << 20} {
		for round := range rounds {
			key := fmt.Sprintf("%srace/%d/%d", k.prefix, size, round)
			contents := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, size) }
			k.oneWins(key, contents, together(racers, func(i int) error {
				b := contents(i)
				_, err := k.Put(ctx(), key, b, sum(b), object.Condition{Absent: true})
				return err
			}))
			if size > 10 && round == 3 {
				break // large ones take long
			}
		}
	}
}

func compareAndSwapLosesNothing(t *testing.T, k *bench) {
	const racers, turns = 8, 10
	key := k.prefix + "counter"
	k.put(key, []byte("0"))
	for _, err := range together(racers, func(int) error {
		for range turns {
			for {
				b, a, err := k.Read(ctx(), key, 20)
				if err != nil {
					return err
				}
				n, err := strconv.Atoi(string(b))
				if err != nil {
					return err
				}
				next := []byte(strconv.Itoa(n + 1))
				_, err = k.Put(ctx(), key, next, sum(next), object.Condition{Tag: a.Tag})
				if err == nil {
					break
				}
				if !lost(err) {
					return err
				}
			}
		}
		return nil
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	k.holds(key, []byte(strconv.Itoa(racers*turns)))
}

func deleteKeepsItsCondition(t *testing.T, k *bench) {
	key := k.prefix + "deleted"
	old := k.put(key, []byte("one"))
	tag := k.put(key, []byte("two"))
	err := k.Delete(ctx(), key, object.Condition{Tag: old})
	if errors.Is(err, errs.Unsupported) && !k.s.ConditionalDelete {
		k.holds(key, []byte("two"))
		k.is(k.Delete(ctx(), key, object.Condition{Tag: tag}), errs.Unsupported)
		k.holds(key, []byte("two"))
	} else {
		k.is(err, object.ErrCondition)
		k.holds(key, []byte("two"))
		if err := k.Delete(ctx(), key, object.Condition{Tag: tag}); err != nil {
			t.Fatal(err)
		}
		k.missing(key)
		if err := k.Delete(ctx(), key, object.Condition{Tag: tag}); err != nil {
			k.is(err, object.ErrCondition) // some servers say that nothing is left to do
		}
		k.put(key, []byte("three"))
	}
	if err := k.Delete(ctx(), key, object.Condition{}); err != nil {
		t.Fatal(err)
	}
	k.missing(key)
	for a, err := range k.List(ctx(), k.prefix, false) {
		t.Errorf("the list has %q, %v after all was deleted", a.Key, err)
	}
}

// begun starts an upload with two parts.
func (k *bench) begun(key string, seed uint64) (u object.Upload, whole []byte) {
	k.t.Helper()
	u, err := k.Begin(ctx(), key)
	if err != nil {
		k.t.Fatal(err)
	}
	one, two := noise(seed, int(k.Limits().MinPart)), noise(seed+1, 1000)
	for i, b := range [][]byte{one, two} {
		if err := u.Part(ctx(), i+1, b, sum(b)); err != nil {
			k.t.Fatal(err)
		}
	}
	return u, append(one, two...)
}

func oneCompleteOfManyWins(t *testing.T, k *bench) {
	first := k.prefix + "in-turn"
	one, whole := k.begun(first, 20)
	two, other := k.begun(first, 30)
	if _, err := one.Complete(ctx(), 2, sum(whole), object.Condition{Absent: true}); err != nil {
		t.Fatal(err)
	}
	_, err := two.Complete(ctx(), 2, sum(other), object.Condition{Absent: true})
	k.is(err, object.ErrCondition)
	k.holds(first, whole)
	if err := two.Abort(ctx()); err != nil {
		t.Error(err)
	}
	const racers, rounds = 4, 4
	for round := range rounds {
		key := fmt.Sprintf("%sat-once/%d", k.prefix, round)
		ups, wholes := make([]object.Upload, racers), make([][]byte, racers)
		for i := range ups {
			ups[i], wholes[i] = k.begun(key, uint64(40+10*i))
		}
		winner := k.oneWins(key, func(i int) []byte { return wholes[i] }, together(racers, func(i int) error {
			_, err := ups[i].Complete(ctx(), 2, sum(wholes[i]), object.Condition{Absent: true})
			return err
		}))
		for i, u := range ups {
			if i != winner {
				if err := u.Abort(ctx()); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func completeKeepsItsTag(t *testing.T, k *bench) {
	key := k.prefix + "swapped"
	old := k.put(key, []byte("old"))
	tag := k.put(key, []byte("new"))
	u, whole := k.begun(key, 60)
	_, err := u.Complete(ctx(), 2, sum(whole), object.Condition{Tag: old})
	k.is(err, object.ErrCondition)
	k.holds(key, []byte("new"))
	got, err := u.Complete(ctx(), 2, sum(whole), object.Condition{Tag: tag})
	if err != nil {
		t.Fatal(err)
	}
	if a := k.holds(key, whole); a.Tag != got {
		t.Errorf("Complete returned the tag %s, the object has %s", got, a.Tag)
	}
}
