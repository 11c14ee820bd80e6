// Package buckettest holds the laws of object.Bucket. A driver runs them against a real server.
package buckettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// Server is what the laws are tried on.
type Server struct {
	// Open returns a bucket, and a beginning of keys that no object has. It is called for each law.
	Open func(t *testing.T) (b object.Bucket, prefix string)
	// ConditionalDelete says that the server compares the tag of a delete. If it is false, a
	// conditional delete may fail with errs.Unsupported.
	ConditionalDelete bool
	// WholeSum says that the server compares the checksum of an upload as a whole.
	WholeSum bool
	// FileKeys says that the server keeps objects as files, so that "a" and "a/b" cannot both be keys.
	FileKeys bool
	// NoBackslash says that the server takes "\" for "/", so that the driver refuses such keys.
	NoBackslash bool
}

// Run tries all laws.
func Run(t *testing.T, s Server) {
	for _, law := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"WhatIsPutIsRead", whatIsPutIsRead},
		{"MissingKeysAreNotFound", missingKeysAreNotFound},
		{"PutKeepsItsCondition", putKeepsItsCondition},
		{"GetKeepsItsTag", getKeepsItsTag},
		{"RangesAreExact", rangesAreExact},
		{"ReadHasALimit", readHasALimit},
		{"WrongChecksumsAreRefused", wrongChecksumsAreRefused},
		{"OnePutOfManyWins", onePutOfManyWins},
		{"CompareAndSwapLosesNothing", compareAndSwapLosesNothing},
		{"DeleteKeepsItsCondition", deleteKeepsItsCondition},
		{"DeleteAllRemovesAll", deleteAllRemovesAll},
		{"ListsAreWholeAndInOrder", listsAreWholeAndInOrder},
		{"OrderIsThatOfBytes", orderIsThatOfBytes},
		{"OddKeysAreKept", oddKeysAreKept},
		{"UploadsAppearAsAWhole", uploadsAppearAsAWhole},
		{"PartsAreReplaced", partsAreReplaced},
		{"UploadsNeedTheirParts", uploadsNeedTheirParts},
		{"OneCompleteOfManyWins", oneCompleteOfManyWins},
		{"CompleteKeepsItsTag", completeKeepsItsTag},
		{"UnfinishedUploadsAreFound", unfinishedUploadsAreFound},
		{"AContextThatEndedIsSaid", aContextThatEndedIsSaid},
		{"BadRequestsAreInvalid", badRequestsAreInvalid},
		{"LimitsAreThoseOfAServer", limitsAreThoseOfAServer},
	} {
		t.Run(law.name, func(t *testing.T) {
			b, prefix := s.Open(t)
			law.run(t, &bench{Bucket: b, t: t, s: s, prefix: prefix})
		})
	}
}

// bench is a bucket with what the laws do to it.
type bench struct {
	object.Bucket
	t      *testing.T
	s      Server
	prefix string
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the CRC-32C of b.
func sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func ctx() context.Context { return context.Background() }

// noise returns n bytes that do not repeat.
func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), 7})
	_, _ = source.Read(b)
	return b
}

func (k *bench) put(key string, b []byte) string {
	k.t.Helper()
	tag, err := k.Put(ctx(), key, b, sum(b), object.Condition{})
	if err != nil {
		k.t.Fatal(err)
	}
	if tag == "" {
		k.t.Fatalf("%s: Put returned no tag", key)
	}
	return tag
}

// holds fails unless key has the contents want.
func (k *bench) holds(key string, want []byte) object.Attrs {
	k.t.Helper()
	got, a, err := k.Read(ctx(), key, int64(len(want))+100)
	if err != nil {
		k.t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		k.t.Fatalf("%s: %d bytes differ from the %d bytes that were put", key, len(got), len(want))
	}
	return a
}

func (k *bench) missing(key string) {
	k.t.Helper()
	if _, err := k.Head(ctx(), key); !errors.Is(err, errs.NotFound) {
		k.t.Fatalf("%s: want not found, got %v", key, err)
	}
}

// is fails unless err is a *errs.Error that is target.
func (k *bench) is(err, target error) {
	k.t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) || !errors.Is(err, target) {
		k.t.Fatalf("want an *errs.Error that is %q, got %v", target, err)
	}
}

func whatIsPutIsRead(t *testing.T, k *bench) {
	tags := map[string]bool{}
	for i, n := range []int{0, 1, 4096, 1 << 20, 9<<20 + 3} {
		key, b := fmt.Sprintf("%sput/%d", k.prefix, n), noise(uint64(i), n)
		tag := k.put(key, b)
		a := k.holds(key, b)
		head, err := k.Head(ctx(), key)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []object.Attrs{a, head} {
			if a.Key != key || a.Size != int64(n) || a.Tag != tag || a.Prefix {
				t.Errorf("%+v, want key %s, size %d, tag %s", a, key, n, tag)
			}
			if a.Now.IsZero() || a.Modified.IsZero() || a.Now.Sub(a.Modified).Abs() > time.Hour {
				t.Errorf("modified %v, now %v: want times that are near", a.Modified, a.Now)
			}
		}
		if tags[tag] {
			t.Errorf("two contents have the tag %s", tag)
		}
		tags[tag] = true
	}
	key := k.prefix + "put/1"
	if tag := k.put(key, []byte("other")); tags[tag] {
		t.Errorf("the tag %s did not change with the contents", tag)
	}
	k.holds(key, []byte("other"))
}

func missingKeysAreNotFound(t *testing.T, k *bench) {
	key := k.prefix + "no/such/key"
	k.missing(key)
	_, _, err := k.Read(ctx(), key, 10)
	k.is(err, errs.NotFound)
	k.is(k.Get(ctx(), key, 0, "", make([]byte, 3)), errs.NotFound)
	k.is(k.Get(ctx(), key, 0, ""), errs.NotFound)
	if err := k.Delete(ctx(), key, object.Condition{}); err != nil {
		t.Error(err)
	}
	if err := k.DeleteAll(ctx(), []string{key, key + "2"}); err != nil {
		t.Error(err)
	}
	if err := k.DeleteAll(ctx(), nil); err != nil {
		t.Error(err)
	}
	for a, err := range k.List(ctx(), key, false) {
		t.Errorf("the list has %v, %v", a, err)
	}
}

func putKeepsItsCondition(t *testing.T, k *bench) {
	key := k.prefix + "conditional"
	one, two := []byte("one"), []byte("two")
	_, err := k.Put(ctx(), key, one, sum(one), object.Condition{Tag: `"00000000000000000000000000000000"`})
	k.is(err, object.ErrCondition)
	k.missing(key)
	tag, err := k.Put(ctx(), key, one, sum(one), object.Condition{Absent: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Put(ctx(), key, two, sum(two), object.Condition{Absent: true})
	k.is(err, object.ErrCondition)
	_, err = k.Put(ctx(), key, two, sum(two), object.Condition{Tag: `"00000000000000000000000000000000"`})
	k.is(err, object.ErrCondition)
	k.holds(key, one)
	if _, err := k.Put(ctx(), key, two, sum(two), object.Condition{Tag: tag}); err != nil {
		t.Fatal(err)
	}
	k.holds(key, two)
	_, err = k.Put(ctx(), key, one, sum(one), object.Condition{Tag: tag})
	k.is(err, object.ErrCondition)
	k.holds(key, two)
}

func getKeepsItsTag(t *testing.T, k *bench) {
	key, p := k.prefix+"tagged", make([]byte, 3)
	old := k.put(key, []byte("one"))
	if err := k.Get(ctx(), key, 0, old, p); err != nil || string(p) != "one" {
		t.Fatalf("%q, %v", p, err)
	}
	k.put(key, []byte("two"))
	k.is(k.Get(ctx(), key, 0, old, p), object.ErrCondition)
	k.is(k.Get(ctx(), key, 0, old), object.ErrCondition)
	if string(p) != "one" {
		t.Errorf("a refused Get wrote %q", p)
	}
}

func rangesAreExact(t *testing.T, k *bench) {
	key, b := k.prefix+"ranges", noise(3, 3<<20)
	tag := k.put(key, b)
	size := len(b)
	for _, r := range []struct{ off, n int }{
		{0, 1}, {0, 0}, {1, 1}, {0, size}, {size - 1, 1}, {size, 0}, {4095, 4098}, {1 << 20, 2 << 20}, {77, 1<<20 + 1},
	} {
		all := bytes.Repeat([]byte{0xa5}, r.n+16)
		p := all[8 : 8+r.n : 8+r.n]
		if err := k.Get(ctx(), key, int64(r.off), tag, p); err != nil {
			t.Fatalf("%d bytes from %d: %v", r.n, r.off, err)
		}
		if !bytes.Equal(p, b[r.off:r.off+r.n]) {
			t.Errorf("%d bytes from %d: the bytes differ", r.n, r.off)
		}
		if edge := bytes.Repeat([]byte{0xa5}, 8); !bytes.Equal(all[:8], edge) || !bytes.Equal(all[8+r.n:], edge) {
			t.Errorf("%d bytes from %d: Get wrote outside its slice", r.n, r.off)
		}
	}
	pieces := [][]byte{make([]byte, 5), nil, make([]byte, 1<<20), make([]byte, 1), {}}
	if err := k.Get(ctx(), key, 7, tag, pieces...); err != nil || !bytes.Equal(bytes.Join(pieces, nil), b[7:7+6+1<<20]) {
		t.Errorf("several pieces: %v, or other bytes", err)
	}
	if err := k.Get(ctx(), key, int64(size-3), tag, make([]byte, 2), make([]byte, 2)); !errors.Is(err, errs.Corrupt) {
		t.Errorf("several pieces that reach beyond the end: want corrupt, got %v", err)
	}
	for _, r := range []struct{ off, n int }{{0, size + 1}, {size - 1, 2}, {size, 1}, {size + 10, 5}, {size + 1, 0}} {
		if err := k.Get(ctx(), key, int64(r.off), "", make([]byte, r.n)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%d bytes from %d of %d: want corrupt, got %v", r.n, r.off, size, err)
		}
	}
	k.is(k.Get(ctx(), key, -1, "", make([]byte, 1)), errs.Invalid)
}

func readHasALimit(t *testing.T, k *bench) {
	key, b := k.prefix+"limited", noise(4, 1000)
	k.put(key, b)
	if got, _, err := k.Read(ctx(), key, 1000); err != nil || !bytes.Equal(got, b) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for _, limit := range []int64{999, 1, 0} {
		_, _, err := k.Read(ctx(), key, limit)
		k.is(err, errs.Exhausted)
	}
	k.put(key, nil)
	if got, a, err := k.Read(ctx(), key, 0); err != nil || len(got) != 0 || a.Size != 0 {
		t.Fatalf("%d bytes, %+v, %v", len(got), a, err)
	}
}

func wrongChecksumsAreRefused(t *testing.T, k *bench) {
	key, b := k.prefix+"sum", noise(5, 5<<20)
	if _, err := k.Put(ctx(), key, b, sum(b)^1, object.Condition{}); err == nil {
		t.Error("Put took a wrong checksum")
	} else {
		k.is(err, errs.Corrupt)
	}
	k.missing(key)
	u, err := k.Begin(ctx(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Part(ctx(), 1, b, sum(b)^1); err == nil {
		t.Error("Part took a wrong checksum")
	} else {
		k.is(err, errs.Corrupt)
	}
	if err := u.Part(ctx(), 1, b, sum(b)); err != nil {
		t.Fatal(err)
	}
	tail := []byte("tail")
	if err := u.Part(ctx(), 2, tail, sum(tail)); err != nil {
		t.Fatal(err)
	}
	whole := append(bytes.Clone(b), tail...)
	_, err = u.Complete(ctx(), 2, sum(whole)^1, object.Condition{})
	switch {
	case err != nil:
		k.is(err, errs.Corrupt)
		k.missing(key)
		if err := u.Abort(ctx()); err != nil {
			t.Error(err)
		}
	case k.s.WholeSum:
		t.Error("Complete took a wrong checksum")
	default:
		k.holds(key, whole)
	}
}

func aContextThatEndedIsSaid(t *testing.T, k *bench) {
	ended, stop := context.WithCancel(ctx())
	stop()
	b := []byte("late")
	_, err := k.Put(ended, k.prefix+"late", b, sum(b), object.Condition{})
	k.is(err, errs.Canceled)
	k.is(err, context.Canceled)
	_, _, err = k.Read(ended, k.prefix+"late", 10)
	k.is(err, errs.Canceled)
	listed := 0
	for _, err := range k.List(ended, k.prefix, false) {
		k.is(err, errs.Canceled)
		listed++
	}
	if listed != 1 {
		t.Errorf("a list after its context yielded %d times, want one error", listed)
	}
}

func badRequestsAreInvalid(t *testing.T, k *bench) {
	b := []byte("x")
	_, err := k.Put(ctx(), "", b, sum(b), object.Condition{})
	k.is(err, errs.Invalid)
	_, err = k.Put(ctx(), k.prefix+"both", b, sum(b), object.Condition{Absent: true, Tag: `"x"`})
	k.is(err, errs.Invalid)
	k.is(k.Delete(ctx(), k.prefix+"absent", object.Condition{Absent: true}), errs.Invalid)
	_, err = k.Head(ctx(), k.prefix+string(bytes.Repeat([]byte("k"), 2000)))
	k.is(err, errs.Invalid)
	_, err = k.Begin(ctx(), "")
	k.is(err, errs.Invalid)
	k.is(k.DeleteAll(ctx(), []string{""}), errs.Invalid)
	k.missing(k.prefix + "both")
}

func limitsAreThoseOfAServer(t *testing.T, k *bench) {
	l := k.Limits()
	if l.MinPart < 1 || l.MaxPart < l.MinPart || l.MaxParts < 1 || l.MaxDelete < 1 || l.MaxPut < 1 {
		t.Errorf("%+v", l)
	}
	if k.Name() == "" {
		t.Error("the bucket has no name")
	}
}
