package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

func concurrentObjects(s *suite) {
	t := s.begin("a", store.TxnOptions{})
	const objects, pieces, piece = 8, 8, 700
	var wg sync.WaitGroup
	for i := range objects {
		wg.Go(func() {
			name := fmt.Sprintf("d%d/x%d", i%3, i)
			w, err := t.Create(s.ctx, name, pieces*piece)
			if err != nil {
				s.Error(err)
				return
			}
			var inner sync.WaitGroup
			for k := range pieces {
				inner.Go(func() {
					if err := w.WriteAt(s.ctx, bytes.Repeat([]byte{byte('a' + i), byte('0' + k)}, piece/2), int64(k*piece)); err != nil {
						s.Error(err)
					}
				})
			}
			inner.Wait()
			if err := w.Seal(s.ctx); err != nil {
				s.Error(err)
			}
			if err := t.Put(s.ctx, name+".small", []byte(name)); err != nil {
				s.Error(err)
			}
		})
	}
	wg.Wait()
	s.ok(t.Commit(s.ctx, manifest))
	for i := range objects {
		var want strings.Builder
		for k := range pieces {
			want.WriteString(strings.Repeat(fmt.Sprintf("%c%d", 'a'+i, k), piece/2))
		}
		s.want(fmt.Sprintf("a/d%d/x%d", i%3, i), want.String())
	}
}

func concurrentTransactions(s *suite) {
	const writers = 8
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := map[string]int{}
	for i := range writers {
		wg.Go(func() {
			final := fmt.Sprintf("deep/run/%d", i%2)
			t, err := s.Begin(s.ctx, final, store.TxnOptions{})
			if err == nil {
				err = t.Put(s.ctx, "x", []byte(fmt.Sprint(i)))
			}
			if err == nil {
				err = t.Commit(s.ctx, manifest)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				if old, twice := won[final]; twice {
					s.Errorf("%s was committed by %d and %d", final, old, i)
				}
				won[final] = i
			case !errors.Is(err, errs.Exists):
				s.Error(err)
			}
		})
	}
	wg.Wait()
	for final, i := range won {
		s.want(final+"/x", fmt.Sprint(i))
	}
	s.wantList("deep/run", "0", "1")
}

func concurrentPut(s *suite) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	winner := -1
	for i := range 8 {
		wg.Go(func() {
			err := s.Put(s.ctx, "d/lock", []byte(fmt.Sprint(i)), store.PutOptions{IfAbsent: true})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && winner >= 0:
				s.Errorf("%d and %d both put", winner, i)
			case err == nil:
				winner = i
			case !errors.Is(err, errs.Exists):
				s.Error(err)
			}
		})
	}
	wg.Wait()
	s.want("d/lock", fmt.Sprint(winner))
	s.wantList("d", "lock")
}
