//go:build cgo && libjpeg

package jpeg

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/proof/photos"
)

// BenchmarkAgainstC decodes 128 photographs in turn here, whole and random windows of
// them, and in a loop in C over the same library, which folds the pixels to a word as
// is done here. The metrics are medians: images a second, and the ratios that matter.
func BenchmarkAgainstC(b *testing.B) {
	const n = 128
	dir := b.TempDir()
	if err := photos.Write(dir, n); err != nil {
		b.Fatal(err)
	}
	loop := startC(b, dir)
	files, _ := filepath.Glob(filepath.Join(dir, "train", "*", "*.jpg"))
	if len(files) != n {
		b.Fatalf("%d files", len(files))
	}
	data := make([][]byte, n)
	for i, f := range files {
		var err error
		if data[i], err = os.ReadFile(f); err != nil {
			b.Fatal(err)
		}
	}
	var d turbo
	var p portable
	dst := make([]byte, 1<<20)
	decode := func(d interface {
		decode(j *job) error
	}, window func(h Header) Region) time.Duration {
		start := time.Now()
		for _, f := range data {
			h, err := ReadHeader(f)
			if err != nil {
				b.Fatal(err)
			}
			r := window(h)
			out := dst[:r.W*r.H*3]
			if err := d.decode(&job{dst: out, data: f, header: h, region: r}); err != nil {
				b.Fatal(err)
			}
			fold(out)
		}
		return time.Since(start)
	}
	whole := func(h Header) Region { return Region{W: h.Width, H: h.Height} }
	var full, windows, pure, pureWindows, c []time.Duration
	for b.Loop() {
		r, again := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(1, 1))
		full = append(full, decode(&d, whole))
		c = append(c, loop())
		windows = append(windows, decode(&d, func(h Header) Region { return crop(r, h) }))
		pure = append(pure, decode(&p, whole))
		pureWindows = append(pureWindows, decode(&p, func(h Header) Region { return crop(again, h) }))
	}
	rate := func(t []time.Duration) float64 {
		slices.Sort(t)
		return n / t[len(t)/2].Seconds()
	}
	b.ReportMetric(rate(full), "images/s")
	b.ReportMetric(rate(c), "images/s-in-C")
	b.ReportMetric(rate(windows), "windows/s")
	b.ReportMetric(rate(full)/rate(c), "of-C")
	b.ReportMetric(rate(windows)/rate(full), "windows/whole")
	b.ReportMetric(rate(pure)/rate(c), "Go-of-C")
	b.ReportMetric(rate(pureWindows)/rate(full), "Go-windows/whole")
	b.ReportMetric(0, "ns/op")
}

var folded uint64

func fold(pixels []byte) {
	var sum [4]uint64 // the compiler of C takes several words at once, too
	for ; len(pixels) >= 32; pixels = pixels[32:] {
		for i := range sum {
			sum[i] ^= binary.LittleEndian.Uint64(pixels[8*i:])
		}
	}
	folded ^= sum[0] ^ sum[1] ^ sum[2] ^ sum[3]
}

// startC compiles the loop and returns what runs it over all images once.
func startC(b *testing.B, data string) func() time.Duration {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	program := filepath.Join(b.TempDir(), "decode")
	if out, err := exec.Command(cc, "-O2", "-o", program, filepath.Join("..", "..", "bench", "pipeline", "testdata", "decode.c"), "-ljpeg").CombinedOutput(); err != nil {
		b.Skipf("%s: %v: %.200s", cc, err, out)
	}
	process := exec.Command(program)
	in, err := process.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := process.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()     //nolint:errcheck // the process ends
		process.Wait() //nolint:errcheck // and nothing depends on how
	})
	lines := bufio.NewScanner(out)
	ask := func(request string) (seconds float64) {
		if _, err := io.WriteString(in, request+"\n"); err != nil || !lines.Scan() {
			b.Fatal("the loop in C does not answer")
		}
		var answer struct{ Seconds float64 }
		if err := json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "ANSWER ")), &answer); err != nil {
			b.Fatal(err)
		}
		return answer.Seconds
	}
	ask(fmt.Sprintf(`{"data":%q}`, data))
	return func() time.Duration { return time.Duration(ask("{}") * float64(time.Second)) }
}
