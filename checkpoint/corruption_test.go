package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// damage is a checkpoint in which something is not as it was saved.
type damage struct {
	name   string
	files  content
	verify bool // Verify must notice
}

// with returns the files with one of them replaced; nil removes it.
func (c content) with(name string, b []byte) content {
	d := maps.Clone(c)
	if d[name] = b; b == nil {
		delete(d, name)
	}
	return d
}

// allowance is the most memory that loading a damaged checkpoint of a few
// kilobytes may take.
const allowance = 32 << 20

// run tries every damage, on all cores.
func (s specimen) run(t *testing.T, damages iter.Seq[damage]) {
	t.Helper()
	queue := make(chan damage, 64)
	var wg sync.WaitGroup
	var count, noticed atomic.Int64
	var alone sync.RWMutex // held for writing by who measures
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for d := range queue {
				count.Add(1)
				alone.RLock()
				n, err := s.memory(d.files)
				alone.RUnlock()
				if err == nil && n > allowance { // or others took it meanwhile
					alone.Lock()
					n, err = s.memory(d.files)
					alone.Unlock()
					if n > allowance {
						t.Errorf("%s: %s: loading took %d bytes of memory", s.name, d.name, n)
					}
				}
				if err != nil {
					t.Errorf("%s: %s: %v", s.name, d.name, err)
				}
				if d.verify {
					noticed.Add(1)
					alone.RLock()
					found, err := s.verify(d.files)
					alone.RUnlock()
					if !found {
						t.Errorf("%s: %s: Verify reports no problem: %v", s.name, d.name, err)
					}
				}
			}
		})
	}
	for d := range damages {
		if t.Failed() {
			break // one is enough to look at
		}
		queue <- d
	}
	close(queue)
	wg.Wait()
	t.Logf("%s: %d damages loaded, %d of them verified", s.name, count.Load(), noticed.Load())
}

// memory examines a damaged checkpoint and returns how much memory all
// goroutines took meanwhile; 0 for specimens that are large themselves.
func (s specimen) memory(files content) (uint64, error) {
	size := 0
	for _, b := range s.files {
		size += len(b)
	}
	before := allocated()
	err := s.examine(files)
	if size >= 1<<20 {
		return 0, err
	}
	return allocated() - before, err
}

// allocated is the memory that all goroutines have allocated so far.
func allocated() uint64 {
	sample := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}

// data returns which bytes of a file belong to arrays. The other bytes describe the arrays.
func (s specimen) data(name string) (from, to int) {
	size := len(s.files[name])
	switch base := path.Base(name); {
	case strings.Contains(name, "/d/"): // of a database: its nodes lie at its end
		return 0, min(int(s.arrayBytes(name)), size) // compressed, all of it
	case strings.HasSuffix(name, ".safetensors"):
		return 8 + int(binary.LittleEndian.Uint64(s.files[name])), size
	case strings.Contains(name, "/c/") || base == "c" || strings.Trim(base, "0123456789.") == "": // a chunk
		return 0, size
	}
	return 0, 0
}

// flip returns a damage of one bit.
func (s specimen) flip(name string, bit int, verify bool) damage {
	b := bytes.Clone(s.files[name])
	b[bit/8] ^= 1 << (bit % 8)
	return damage{fmt.Sprintf("bit %d of %s flipped", bit, name), s.files.with(name, b), verify}
}

// every is how much is tried: all loads are verified, too, and every bit of the
// data flipped; or one in eleven verified, and some bits flipped.
type every bool

func (all every) verify(i int) bool { return bool(all) || i%11 == 0 }

// sampled reports whether a sample is tried of what is else tried in full: with
// -short, and under the race detector, which wants interleavings, not states.
func sampled() bool { return testing.Short() || raceDetector }

// step is one in how many damages is tried, 1 = all.
func (s specimen) step(all every) int {
	switch {
	case bool(all):
		return 1
	case sampled():
		return 31 * max(1, s.coarse)
	}
	return max(1, s.coarse)
}

func (s specimen) metadataFlips(all every) iter.Seq[damage] {
	return func(yield func(damage) bool) {
		step := s.step(all)
		for _, name := range slices.Sorted(maps.Keys(s.files)) {
			from, to := s.data(name)
			for bit := range len(s.files[name]) * 8 {
				if bit/8 >= from && bit/8 < to || bit%step != len(name)%step {
					continue
				}
				if !yield(s.flip(name, bit, all.verify(bit))) {
					return
				}
			}
		}
	}
}

// arrayBytes is where the nodes begin: after the two arrays that lie apart.
func (s specimen) arrayBytes(name string) int64 {
	m, err := manifest.Parse(s.files[manifest.Name])
	if err != nil {
		return 0
	}
	n := int64(0)
	for _, l := range m.Leaves {
		if l.Size >= 1024 && strings.HasPrefix(name, l.Item+"/") {
			n += l.Size
		}
	}
	return n
}

func TestEveryMetadataBitFlip(t *testing.T) {
	for _, s := range slices.Concat(specimens(t, 1, 1), layouts(t, 1, 1)) {
		s.run(t, s.metadataFlips(false))
	}
}

// dataFlips flips n bits of the arrays of each data file, or every bit.
func (s specimen) dataFlips(n int, all every) iter.Seq[damage] {
	return func(yield func(damage) bool) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, name := range slices.Sorted(maps.Keys(s.files)) {
			from, to := s.data(name)
			if from == to {
				continue
			}
			bits, count := (to-from)*8, n
			if all || bits < n {
				count = bits
			}
			for i := range count {
				bit := from*8 + i
				if !all && bits > n {
					bit = from*8 + r.IntN(bits)
				}
				if !yield(s.flip(name, bit, all.verify(i))) {
					return
				}
			}
		}
	}
}

func TestDataBitFlips(t *testing.T) {
	many, few := 2_500, 200
	if sampled() {
		many, few = many/20, few/20
	}
	for _, s := range specimens(t, 2, 2) {
		s.run(t, s.dataFlips(many, false))
	}
	for _, s := range layouts(t, 2, 2) {
		s.run(t, s.dataFlips(few, false))
	}
}

func (s specimen) truncations(all every) iter.Seq[damage] {
	return func(yield func(damage) bool) {
		step := s.step(all)
		for _, name := range slices.Sorted(maps.Keys(s.files)) {
			b := s.files[name]
			for n := range b {
				if n%step != 0 {
					continue
				}
				if !yield(damage{fmt.Sprintf("%s cut to %d bytes", name, n), s.files.with(name, b[:n:n]), all.verify(n)}) {
					return
				}
			}
		}
	}
}

func TestTruncation(t *testing.T) {
	for _, s := range slices.Concat(specimens(t, 3, 3), layouts(t, 3, 3)) {
		s.run(t, s.truncations(false))
	}
}

// Everything of the three tests above, and every damage verified.
func TestCorruptionLong(t *testing.T) {
	if os.Getenv("BIVOUAC_LONG") == "" {
		t.Skip("a long test: make test-long")
	}
	for _, s := range slices.Concat(specimens(t, 10, 10), layouts(t, 10, 10)) {
		s.run(t, s.metadataFlips(true))
		s.run(t, s.dataFlips(0, true))
		s.run(t, s.truncations(true))
	}
}

// wholeFiles are damages that befall files as a whole.
func (s specimen) wholeFiles(yield func(damage) bool) {
	try := func(what string, files content) bool { return yield(damage{what, files, true}) }
	names := slices.Sorted(maps.Keys(s.files))
	for _, name := range names {
		b := s.files[name]
		dir, base := path.Split(name)
		zero := func(from, to int) content {
			z := bytes.Clone(b)
			clear(z[from:to])
			return s.files.with(name, z)
		}
		ok := try(name+" is gone", s.files.with(name, nil)) &&
			try(name+" is there under another name", s.files.with(name, nil).with(dir+"x"+base, b)) &&
			try(name+" is there twice", s.files.with(dir+base+"x", b)) &&
			try(name+" is followed by itself", s.files.with(name, slices.Concat(b, b, []byte{0}))) &&
			try(name+" has a byte too many", s.files.with(name, append(bytes.Clone(b), 0)))
		for from := 0; ok && from < len(b); from += 512 {
			ok = bytes.Equal(b[from:], make([]byte, len(b)-from)) ||
				try(fmt.Sprintf("%s is zeros from %d on", name, from), zero(from, len(b)))
			if to := min(from+512, len(b)); ok && !bytes.Equal(b[from:to], make([]byte, to-from)) {
				ok = try(fmt.Sprintf("%s is zeros from %d to %d", name, from, to), zero(from, to))
			}
		}
		for _, other := range names {
			if !ok {
				return
			}
			if bytes.Equal(b, s.files[other]) {
				continue
			}
			ok = try(name+" holds what belongs into "+other, s.files.with(name, s.files[other])) &&
				try(name+" and "+other+" are swapped", s.files.with(name, s.files[other]).with(other, b))
		}
		if !ok {
			return
		}
	}
	for _, dir := range []string{"state", "state/d", "data"} {
		left, gone := content{}, false
		for name, b := range s.files {
			if strings.HasPrefix(name, dir+"/") {
				gone = true
				continue
			}
			left[name] = b
		}
		if gone && !try("directory "+dir+" is gone", left) {
			return
		}
	}
}

// oneIn is one in n of the damages.
func oneIn(n int, all iter.Seq[damage]) iter.Seq[damage] {
	return func(yield func(damage) bool) {
		i := 0
		for d := range all {
			if i++; i%n == 0 && !yield(d) {
				return
			}
		}
	}
}

func TestWholeFiles(t *testing.T) {
	for _, s := range slices.Concat(specimens(t, 4, 4), layouts(t, 4, 4)) {
		all := iter.Seq[damage](s.wholeFiles)
		if sampled() {
			all = oneIn(7, all)
		}
		s.run(t, all)
	}
}

// Every file, and every group of files, of another checkpoint: of one whose files have other names,
// and of one whose files have the same names and sizes and whose checksums are all right, except in
// the manifest.
func TestFilesOfAnotherCheckpoint(t *testing.T) {
	for _, seed := range []byte{5, 6} {
		others := specimens(t, seed, 6)
		for i, s := range specimens(t, 5, 5) {
			s.boxes = nil // where the manifest is the other's, so are the arrays
			s.run(t, mixtures(s, others[i]))
		}
	}
}

// mixtures yields the checkpoints in which some files, but not all, come from other.
func mixtures(s, other specimen) iter.Seq[damage] {
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(other.files)) {
		if !bytes.Equal(s.files[name], other.files[name]) {
			differ = append(differ, name)
		}
	}
	return func(yield func(damage) bool) {
		for set := 1; set < 1<<len(differ)-1; set++ {
			files := s.files
			var taken []string
			for i, name := range differ {
				if set>>i&1 != 0 {
					files = files.with(name, other.files[name])
					taken = append(taken, name)
				}
			}
			// With the other manifest, the files of s are the damage.
			if !yield(damage{"of another checkpoint: " + strings.Join(taken, ", "), files, true}) {
				return
			}
		}
	}
}

// The contents of two arrays exchanged, with checksums that are right: in the
// file, and in a database that was written that way.
func TestRightChunkInTheWrongPlace(t *testing.T) {
	v := values(7)
	s := preserve(t, "small", writer.V1, 7, map[string]any{"state": v})
	s.run(t, func(yield func(damage) bool) {
		for _, pair := range [][2]string{{"left", "right"}, {"a", "b"}} {
			w := maps.Clone(v)
			w[pair[0]], w[pair[1]] = v[pair[1]], v[pair[0]]
			swapped := preserve(t, "swapped", writer.V1, 7, map[string]any{"state": w})
			files := s.files
			for name, b := range swapped.files {
				if name != manifest.Name {
					files = files.with(name, b)
				}
			}
			if !yield(damage{pair[0] + " and " + pair[1] + " swapped", files, true}) {
				return
			}
			// And with a manifest whose list of files is right.
			files = files.with(manifest.Name, relisted(t, files))
			if !yield(damage{pair[0] + " and " + pair[1] + " swapped, files listed", files, true}) {
				return
			}
		}
	})
}

// relisted is the manifest of files with the sizes and checksums of the files
// as they are.
func relisted(t *testing.T, files content) []byte {
	t.Helper()
	m, err := manifest.Parse(files[manifest.Name])
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range m.Files {
		b := files[f.Name]
		m.Files[i] = manifest.File{Name: f.Name, Size: int64(len(b)), CRC: crc.Sum(b)}
	}
	return m.Append(nil)
}

// Chunks of arrays that have several, moved about within one array and between
// two, each with its checksum: nothing but the manifest could tell.
func TestChunksMoved(t *testing.T) {
	const chunk = 4 << 20 // as checkpoint/internal/writer cuts
	count := 3
	if sampled() {
		count = 2
	}
	fill := func(seed uint64) tensor.Tensor {
		x := tensor.New(tensor.Uint8, count, chunk)
		rand.NewChaCha8([32]byte{byte(seed)}).Read(x.Data) //nolint:errcheck // never fails
		return x
	}
	left, right := fill(1), fill(2)
	s := preserve(t, "chunks", writer.V1, 8, map[string]any{"state": map[string]any{"left": left, "right": right}})
	var file string
	for name := range s.files {
		if strings.Contains(name, "/d/") {
			file = name
		}
	}
	var at []int // where each chunk lies in the data file
	for _, x := range []tensor.Tensor{left, right} {
		for i := range count {
			n := bytes.Index(s.files[file], x.Data[i*chunk:(i+1)*chunk])
			if n < 0 {
				t.Fatalf("chunk %d does not lie in the data file as it is", i)
			}
			at = append(at, n)
		}
	}
	const stored = chunk + 4 // its checksum behind it
	s.run(t, func(yield func(damage) bool) {
		for i := range at {
			for j := range i {
				b := bytes.Clone(s.files[file])
				copy(b[at[i]:], s.files[file][at[j]:at[j]+stored])
				if !yield(damage{fmt.Sprintf("chunk %d in the place of %d", j, i), s.files.with(file, bytes.Clone(b)), true}) {
					return
				}
				copy(b[at[j]:], s.files[file][at[i]:at[i]+stored])
				if !yield(damage{fmt.Sprintf("chunks %d and %d swapped", i, j), s.files.with(file, b), true}) {
					return
				}
			}
		}
		r := rand.New(rand.NewPCG(8, 8))
		flips := 40
		if sampled() {
			flips = 4
		}
		for range flips {
			if !yield(s.flip(file, r.IntN(len(s.files[file])*8), true)) {
				return
			}
		}
	})
}

// The suite must fail for what is no damage to the eye of a format: a store
// that answers with other bytes than were saved.
func TestExamineFindsWrongValues(t *testing.T) {
	s := specimens(t, 9, 9)[0]
	other := specimens(t, 9, 10)[0]
	if s.examine(other.files) == nil {
		t.Error("another checkpoint passes for this one")
	}
	if found, _ := s.verify(s.files.with(manifest.Name, nil)); !found {
		t.Error("a checkpoint without its manifest verifies")
	}
	if err := refusal(errors.New("other")); err == nil {
		t.Error("an error without a kind passes for a refusal")
	}
}
