package ocdbt

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// reseal puts body into an envelope whose length and checksum are right, so that
// the fuzzer gets past them.
func reseal(magic uint32, body []byte) []byte { return sealer{}.seal(magic, body) }

// seeds adds the bodies of all objects of the kind in testdata.
func seeds(f *testing.F, magic uint32) {
	for _, dir := range databases(f, "testdata/vectors") {
		for _, o := range objects(f, loadDir(f, dir)) {
			if o.magic == magic && len(o.encoded) < 2000 {
				f.Add(o.encoded)
			}
		}
	}
}

func FuzzManifest(f *testing.F) {
	seeds(f, magicManifest)
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := DecodeManifest(reseal(magicManifest, body), ManifestName)
		if err != nil {
			return
		}
		b, err := m.body()
		if err != nil {
			t.Fatalf("decoded, but cannot be encoded: %v", err)
		}
		again, err := DecodeManifest(reseal(magicManifest, b), ManifestName)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := again.body(); err != nil || !bytes.Equal(b, c) {
			t.Fatalf("encoded twice: %v\n% x\n% x", err, b, c)
		}
	})
}

// FuzzEnvelope decodes raw bytes, zstd frames included.
func FuzzEnvelope(f *testing.F) {
	f.Add(reseal(magicManifest, []byte("body")))
	f.Add(newSealer(OrbaxConfig([16]byte{})).seal(magicManifest, bytes.Repeat([]byte("body"), 9)))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = openEnvelope(b, magicManifest, 1<<20, location{file: "f"})
		if len(b) > headerSize+4 { // the same with the right length and checksum
			_, _ = openEnvelope(rewrap(b), magicManifest, 1<<20, location{file: "f"})
		}
	})
}

// rewrap corrects length and checksum.
func rewrap(b []byte) []byte {
	b = bytes.Clone(b[:len(b)-4])
	binary.BigEndian.PutUint32(b, magicManifest)
	return finish(b)
}

func FuzzNode(f *testing.F) {
	seeds(f, magicNode)
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return
		}
		b := reseal(magicNode, body)
		ref := Node{File: File{Name: "d/n"}, Length: int64(len(b)), Height: int(body[0])}
		n, err := parseNode(b, ref, location{}, 1<<24)
		if err != nil {
			return
		}
		again, err := parseNode(reseal(magicNode, reencode(n, "")), ref, location{}, 1<<24)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(reencode(n, ""), reencode(again, "")) {
			t.Fatal("encoded twice differs")
		}
	})
}

func FuzzVersionNode(f *testing.F) {
	seeds(f, magicVersionNode)
	f.Fuzz(func(_ *testing.T, body []byte) {
		b := reseal(magicVersionNode, body)
		for height := range 3 {
			_, _ = decodeVersionNode(b, VersionNode{File: File{Name: "d/n"}, Length: int64(len(b)), Height: height, Generation: 16, NumGenerations: 16}, 4, 1<<20)
		}
	})
}
