package state

import (
	"hash/crc32"

	"github.com/bivouac-ml/bivouac/errs"
)

// Unsealed is the checksum member of a document before Seal fills in its digits, with the comma
// after it. It is the first member of a canonical document, or the second one if the first is
// "batch".
const Unsealed = checksumHead + checksumZeros + `",`

const (
	checksumHead  = `"checksum":"`
	checksumZeros = "00000000"
	checksumName  = "checksum"
	hexDigits     = "0123456789abcdef"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal fills in the checksum of a canonical document that has [Unsealed] as its first member, or as
// the member after "batch". The checksum is the CRC-32C of all bytes of the document, with zeros
// for the digits of the checksum. Seal changes b in place and allocates nothing. It does not change
// a document without that member.
func Seal(b []byte) {
	at := checksumAt(b)
	if at == 0 {
		return
	}
	copy(b[at:], checksumZeros)
	sum := crc32.Checksum(b, castagnoli)
	for i := range len(checksumZeros) {
		b[at+i] = hexDigits[sum>>(28-4*i)&15]
	}
}

// checksumAt returns the offset of the digits of the checksum, or 0 if there is no checksum.
func checksumAt(b []byte) int {
	at := 1
	const batch = `"batch":`
	if len(b) > at+len(batch) && string(b[at:at+len(batch)]) == batch {
		for at < len(b) && b[at] != ',' {
			at++
		}
		at++
	}
	if len(b) < at+len(Unsealed) || string(b[at:at+len(checksumHead)]) != checksumHead {
		return 0
	}
	return at + len(checksumHead)
}

// checkSeal checks a parsed object against its checksum. The checksum stays in the object.
func checkSeal(op string, top map[string]any, got string) error {
	top[checksumName] = checksumZeros
	b := appendValue(nil, top)
	top[checksumName] = got
	sum, want := crc32.Checksum(b, castagnoli), make([]byte, 0, len(checksumZeros))
	for i := range len(checksumZeros) {
		want = append(want, hexDigits[sum>>(28-4*i)&15])
	}
	if string(want) != got {
		return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: checksumName, Want: string(want) + ", the checksum of the document", Got: shorten(got),
			Remedy: "the state is damaged or was edited: use an earlier state"}
	}
	return nil
}

// CheckSeal checks the checksum that [Seal] made and returns the JSON object without it, in
// canonical form. An object without a checksum is only brought into canonical form. The error is of
// kind errs.Corrupt for a wrong checksum, and if Canonical fails.
func CheckSeal(b []byte) ([]byte, error) {
	const op = "state.CheckSeal"
	v, err := parse(b)
	if err != nil {
		return nil, errs.Wrap(op, "", err)
	}
	top, ok := v.(map[string]any)
	if !ok {
		return nil, corrupt(op, "", "a JSON object", describe(v))
	}
	if sum, has := top[checksumName]; has {
		digits, isText := sum.(string)
		if !isText {
			return nil, corrupt(op, checksumName, "text", describe(sum))
		}
		if err := checkSeal(op, top, digits); err != nil {
			return nil, err
		}
		delete(top, checksumName)
	}
	return appendValue(nil, top), nil
}
