package cluster

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

func TestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := InProcess()
		var wg sync.WaitGroup
		for r := range 4 {
			wg.Go(func() {
				m, err := Join(t.Context(), b, Options{Rank: r, World: 4, Job: "j"})
				if err != nil {
					t.Error(err)
					return
				}
				for range 5 {
					if err := m.Barrier(t.Context(), "k"); err != nil {
						t.Error(err)
					}
				}
				v, err := m.Broadcast(t.Context(), "b", 1, make([]byte, r*10<<20))
				if err != nil || len(v) != 10<<20 {
					t.Error(len(v), err)
				}
				all, err := m.Gather(t.Context(), "g", []byte(fmt.Sprint(r)))
				if err != nil || len(all) != 4 || string(all[2]) != "2" {
					t.Error(all, err)
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		docs, _ := b.List(context.Background(), "")
		for _, d := range docs {
			t.Errorf("%s %s", d.Key, d.Value)
		}
	})
}
