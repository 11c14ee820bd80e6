package blosc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// drawData makes bytes that compress, more or less.
func drawData(t *rapid.T) []byte {
	n := rapid.OneOf(rapid.IntRange(0, 600), rapid.IntRange(0, 90_000)).Draw(t, "length")
	mask := rapid.SampledFrom([]byte{0, 1, 7, 63, 255}).Draw(t, "mask")
	period := rapid.SampledFrom([]int{1, 4, 100, 8191, 8192, 20_000, 1 << 30}).Draw(t, "period")
	seed := rapid.Uint64().Draw(t, "seed")
	p := make([]byte, n)
	for i := range p {
		if i >= period {
			p[i] = p[i-period]
			continue
		}
		seed = seed*6364136223846793005 + 1442695040888963407
		p[i] = byte(seed>>56) & mask
	}
	return p
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := drawData(t)
		e := NewEncoder(Params{
			Codec:     rapid.SampledFrom([]Codec{BloscLZ, LZ4, LZ4HC, Snappy, Zlib, Zstd}).Draw(t, "codec"),
			Level:     rapid.IntRange(0, 9).Draw(t, "level"),
			Shuffle:   Shuffle(rapid.IntRange(0, 2).Draw(t, "shuffle")),
			TypeSize:  rapid.SampledFrom([]int{1, 2, 4, 8, 16, 3, 17, 255}).Draw(t, "typesize"),
			BlockSize: rapid.SampledFrom([]int{0, 1, 128, 1000, 1 << 20}).Draw(t, "blocksize"),
		})
		chunk := e.Append([]byte("x"), data)[1:]
		if len(chunk) > Bound(len(data)) {
			t.Fatalf("chunk of %d bytes for %d", len(chunk), len(data))
		}
		got, err := Decode(nil, chunk, len(data))
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%v\n% x\nwant\n% x", err, got, data)
		}
		if _, err := Decode(nil, chunk, len(data)-1); !errors.Is(err, ErrSize) {
			t.Fatalf("beyond the limit: %v", err)
		}
	})
}

// split is what c-blosc writes by default: as many streams as a type has bytes.
func TestSplitBlocks(t *testing.T) {
	const size, n = 4, 128
	data := make([]byte, size*n+12)
	for i := range data {
		data[i] = byte(i % 5)
	}
	shuffled := make([]byte, len(data))
	shuffleBytes(shuffled[:size*n], data[:size*n], size)
	shuffleBytes(shuffled[size*n:], data[size*n:], size)
	chunk := []byte{formatVersion, codecVersion, flagShuffle, size}
	chunk = binary.LittleEndian.AppendUint32(chunk, uint32(len(data)))
	chunk = binary.LittleEndian.AppendUint32(chunk, size*n)
	chunk = append(chunk, make([]byte, 4+8)...)
	binary.LittleEndian.PutUint32(chunk[16:], uint32(len(chunk)))
	for k := range size {
		s := appendBloscLZ(nil, shuffled[k*n:(k+1)*n])
		chunk = append(binary.LittleEndian.AppendUint32(chunk, uint32(len(s))), s...)
	}
	binary.LittleEndian.PutUint32(chunk[20:], uint32(len(chunk)))
	chunk = append(binary.LittleEndian.AppendUint32(chunk, 12), shuffled[size*n:]...)
	binary.LittleEndian.PutUint32(chunk[12:], uint32(len(chunk)))
	got, err := Decode(nil, chunk, len(data))
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%v\n% x\nwant\n% x", err, got, data)
	}
}

func TestTranspose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Uint64().Draw(t, "x")
		var want uint64
		for i := range 8 {
			for j := range 8 {
				want |= x >> (8*i + j) & 1 << (8*j + i)
			}
		}
		if got := transpose8(x); got != want {
			t.Fatalf("%016x, want %016x", got, want)
		}
	})
}

func TestHostile(t *testing.T) {
	data := bytes.Repeat([]byte("blosc and more "), 100)
	sound := NewEncoder(Params{Codec: LZ4, Level: 5, TypeSize: 4, BlockSize: 512}).Append(nil, data)
	change := func(at int, value uint32) []byte {
		b := bytes.Clone(sound)
		binary.LittleEndian.PutUint32(b[at:], value)
		return b
	}
	blocks := binary.LittleEndian.Uint32(sound[16:])
	for _, c := range []struct {
		name  string
		chunk []byte
		want  error
	}{
		{"sound", sound, nil},
		{"empty", nil, ErrHeader},
		{"short header", sound[:15], ErrHeader},
		{"version", append([]byte{3}, sound[1:]...), ErrVersion},
		{"codec of the future", append([]byte{2, 1, 0xf0}, sound[3:]...), ErrVersion},
		{"flags of the future", append([]byte{2, 1, 0x38}, sound[3:]...), ErrVersion},
		{"typesize 0", append([]byte{2, 1, 0x30, 0}, sound[4:]...), ErrHeader},
		{"cut short", sound[:len(sound)-1], ErrLength},
		{"more behind it", append(bytes.Clone(sound), 0), ErrLength},
		{"stored, of another length", append([]byte{2, 1, 0x32}, sound[3:]...), ErrLength},
		{"bomb", change(4, 1<<30), ErrContent},
		{"blocksize 0", change(8, 0), ErrHeader},
		{"blocksize beyond the chunk", change(8, 1501), ErrHeader},
		{"many blocks", change(8, 1), ErrContent},
		{"block in the header", change(16, 4), ErrBlock},
		{"block beyond the end", change(16, uint32(len(sound))), ErrBlock},
		{"a block too long for its place", change(24, blocks), ErrBlock},
		{"stream beyond the end", change(int(blocks), 511), ErrBlock},
		{"huge stream", change(int(blocks), 1<<31), ErrBlock},
	} {
		if _, err := Decode(nil, c.chunk, 1<<31-1); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	data := bytes.Repeat([]byte("0123456789abcdeF"), 40)
	for _, codec := range []Codec{BloscLZ, LZ4, Snappy, Zlib, Zstd} {
		for shuffle := NoShuffle; shuffle <= BitShuffle; shuffle++ {
			f.Add(NewEncoder(Params{Codec: codec, Level: 5, Shuffle: shuffle, TypeSize: 4}).Append(nil, data))
		}
	}
	f.Fuzz(func(t *testing.T, chunk []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := Decode(nil, chunk, 1<<20)
		runtime.ReadMemStats(&after)
		if err == nil && len(out) > 1<<20 {
			t.Fatalf("%d bytes", len(out))
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
			t.Fatalf("%d bytes allocated for %d", n, len(chunk))
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data := make([]byte, 4<<20)
	for i := range data {
		data[i] = byte(i / 1024 * i)
	}
	for _, codec := range []Codec{BloscLZ, LZ4, Snappy, Zlib, Zstd} {
		for _, shuffle := range []Shuffle{ByteShuffle, BitShuffle} {
			name := codec.String() + [...]string{"", "/bytes", "/bits"}[shuffle]
			b.Run(name, func(b *testing.B) {
				chunk := NewEncoder(Params{Codec: codec, Level: 5, Shuffle: shuffle, TypeSize: 4}).Append(nil, data)
				dst := make([]byte, len(data))
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Decode(dst, chunk, len(data)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
