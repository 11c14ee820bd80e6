package cluster_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/cluster/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestInProcess(t *testing.T) {
	clustertest.Run(t, clustertest.Suite{Virtual: true, Open: func(*testing.T) func() cluster.Board {
		b := cluster.InProcess()
		return func() cluster.Board { return b }
	}})
}

func TestDirectory(t *testing.T) {
	clustertest.Run(t, clustertest.Suite{Open: func(t *testing.T) func() cluster.Board {
		dir := t.TempDir()
		return func() cluster.Board {
			b, err := cluster.Directory(dir)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}})
}

func BenchmarkBarrier(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		board := cluster.InProcess()
		clustertest.Bench(b, func() cluster.Board { return board })
	})
	b.Run("directory", func(b *testing.B) {
		dir := b.TempDir()
		clustertest.Bench(b, func() cluster.Board {
			board, err := cluster.Directory(dir)
			if err != nil {
				b.Fatal(err)
			}
			return board
		})
	})
}
