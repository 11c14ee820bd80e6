package reader

import "github.com/bivouac-ml/bivouac/errs"

// Tokenizer makes tokens of text. It is safe for concurrent use.
type Tokenizer interface {
	// Encode appends the tokens of a text to dst. The same text always has the same tokens.
	Encode(text []byte, dst []int32) ([]int32, error)
	// Fingerprint identifies the tokenizer: it is equal if all texts have equal tokens.
	Fingerprint() string
}

// TokenizerPackage is the package that registers the tokenizer for tokenizer.json.
const TokenizerPackage = optIn + "tokenizer"

// RegisterTokenizer sets the function that opens a tokenizer.json. An opt-in package calls it when
// it is imported.
func RegisterTokenizer(open func(path string) (Tokenizer, error)) {
	registry.Lock()
	defer registry.Unlock()
	registry.tokenizer = open
}

// OpenTokenizer opens a tokenizer.json. The error is of kind errs.Unsupported if the program does
// not link the package of tokenizers, and names the import.
func OpenTokenizer(path string) (Tokenizer, error) {
	registry.RLock()
	open := registry.tokenizer
	registry.RUnlock()
	if open == nil {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "reader.OpenTokenizer", Subject: path,
			Got: "a tokenizer, which this program does not link", Remedy: `import _ "` + TokenizerPackage + `"`}
	}
	return open(path)
}
