package azure

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/bivouac-ml/bivouac/errs"

	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// Variables of the environment.
const (
	envConnection = "AZURE_STORAGE_CONNECTION_STRING"
	envAccount    = "AZURE_STORAGE_ACCOUNT"
	envKey        = "AZURE_STORAGE_KEY"
	envSAS        = "AZURE_STORAGE_SAS_TOKEN"
)

// lookedFor says where the search for credentials goes.
const lookedFor = "credentials are looked for in " + envConnection + ", in " + envKey + ", in " + envSAS +
	", and then by azidentity: in AZURE_CLIENT_ID and AZURE_TENANT_ID with their secret or certificate, in " +
	"AZURE_FEDERATED_TOKEN_FILE, in the managed identity of the machine, and in the login of the command az"

// publicSuffix ends the hosts of the public cloud.
const publicSuffix = "core.windows.net"

// credential lets a request pass.
type credential interface {
	// authorize changes a request that has all its headers. now is the time of the server.
	authorize(ctx context.Context, r *http.Request, now time.Time) error
	// from says where the credential comes from, or nothing.
	from() string
	// secrets returns what no text may show.
	secrets() []string
	// refused is called when the server did not take the credential.
	refused()
}

// found is what the search for credentials found.
type found struct {
	credential credential
	endpoint   string // of the connection string
	suffix     string // of the host of the account
}

// search looks for credentials.
func (t *target) search() (found, error) {
	f := found{suffix: publicSuffix}
	said, err := t.connection(os.Getenv(envConnection))
	if err != nil {
		return f, err
	}
	if said.own {
		f.endpoint = said.endpoint
		if said.suffix != "" {
			f.suffix = said.suffix
		}
	}
	named := os.Getenv(envAccount)
	own := named == "" || named == t.account
	switch {
	case t.anonymous:
		f.credential = anonymous{}
	case t.o.Key != "":
		f.credential, err = t.key(t.o.Key, "Options.Key")
	case t.o.SAS != "":
		f.credential, err = t.sas(t.o.SAS, "Options.SAS")
	case t.o.Credential != nil:
		f.credential = newBearer(t.o.Credential, "Options.Credential")
	case said.own && said.key != "":
		f.credential, err = t.key(said.key, envConnection)
	case said.own && said.sas != "":
		f.credential, err = t.sas(said.sas, envConnection)
	case own && os.Getenv(envKey) != "":
		f.credential, err = t.key(os.Getenv(envKey), envKey)
	case own && os.Getenv(envSAS) != "":
		f.credential, err = t.sas(os.Getenv(envSAS), envSAS)
	default:
		f.credential, err = t.chain(os.Getenv(envConnection) != "" && !said.own, !own)
	}
	return f, err
}

// chain is the usual chain of azidentity.
func (t *target) chain(otherConnection, otherAccount bool) (credential, error) {
	c, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, &errs.Error{Kind: errs.Permission, Op: opOpen, Subject: t.subject(), Want: "credentials", Got: "none",
			Err: &web.Failure{Message: mask(err.Error(), environmentSecrets())}, Remedy: lookedFor}
	}
	from := "azidentity"
	switch {
	case otherConnection:
		from += ", as " + envConnection + " is of another account"
	case otherAccount:
		from += ", as " + envAccount + " names another account"
	}
	return newBearer(c, from), nil
}

// connected is what a connection string says.
type connected struct {
	own                        bool // it is of the account of the URL
	key, sas, endpoint, suffix string
}

// Azurite's account is the same everywhere, and no secret.
const (
	devAccount  = "devstoreaccount1"
	devKey      = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	devEndpoint = "http://127.0.0.1:10000/" + devAccount
)

// connection reads a connection string. No error repeats a part of it.
func (t *target) connection(text string) (connected, error) {
	var c connected
	if strings.TrimSpace(text) == "" {
		return c, nil
	}
	account, protocol := "", "https"
	for _, field := range strings.Split(text, ";") {
		if strings.TrimSpace(field) == "" {
			continue
		}
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			return c, &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: envConnection,
				Want: "fields like AccountName=…;AccountKey=…", Got: "a field without =",
				Remedy: "copy the whole string, with quotes around it: a shell ends a command at ;"}
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "accountname":
			account = value
		case "accountkey":
			c.key = value
		case "sharedaccesssignature":
			c.sas = value
		case "blobendpoint":
			c.endpoint = value
		case "endpointsuffix":
			c.suffix = value
		case "defaultendpointsprotocol":
			protocol = strings.ToLower(value)
		case "usedevelopmentstorage":
			if strings.EqualFold(value, "true") {
				account, c.key, c.endpoint = devAccount, devKey, devEndpoint
			}
		}
	}
	c.own = account == "" || account == t.account
	if account == "" && c.endpoint != "" {
		if u, err := url.Parse(c.endpoint); err == nil && strings.Contains(u.Host, ".blob.") {
			c.own = strings.HasPrefix(u.Host, t.account+".")
		}
	}
	if c.endpoint == "" && protocol == "http" {
		suffix := c.suffix
		if suffix == "" {
			suffix = publicSuffix
		}
		c.endpoint = "http://" + t.account + ".blob." + suffix
	}
	return c, nil
}

// key makes a credential of an account key.
func (t *target) key(text, from string) (credential, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: from, Want: "an account key in base64",
			Got: "another text", Remedy: "copy the key from the access keys of the account " + t.account}
	}
	return &sharedKey{account: t.account, key: b, text: strings.TrimSpace(text), source: from}, nil
}

// sas makes a credential of a shared access signature.
func (t *target) sas(text, from string) (credential, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "?")
	q, err := url.ParseQuery(text)
	if err != nil || q.Get("sig") == "" {
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: from,
			Want: "a shared access signature like sv=…&sp=…&sig=…", Got: "another text",
			Remedy: "copy the whole SAS, with quotes around it: a shell ends a command at &"}
	}
	return &signature{query: q, source: from, expires: expiry(q.Get("se"))}, nil
}

// expiry reads the time when a SAS ends, which may have no seconds and no time of day.
func expiry(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	return time.Time{}
}

type anonymous struct{}

func (anonymous) authorize(context.Context, *http.Request, time.Time) error { return nil }
func (anonymous) from() string                                              { return "nowhere: anonymous=true" }
func (anonymous) secrets() []string                                         { return nil }
func (anonymous) refused()                                                  {}

// signature is a shared access signature: parameters of each request.
type signature struct {
	query   url.Values
	source  string
	expires time.Time // zero if it does not say it
}

func (s *signature) authorize(_ context.Context, r *http.Request, _ time.Time) error {
	signed := strings.ReplaceAll(s.query.Encode(), "+", "%20")
	if r.URL.RawQuery != "" {
		signed = r.URL.RawQuery + "&" + signed
	}
	r.URL.RawQuery = signed
	return nil
}

func (s *signature) from() string {
	if !s.expires.IsZero() && time.Now().After(s.expires) {
		return s.source + ", a SAS that ended at " + s.expires.UTC().Format(time.RFC3339)
	}
	if sp := s.query.Get("sp"); sp != "" && len(sp) <= 16 && strings.Trim(sp, "abcdefghijklmnopqrstuvwxyz") == "" {
		return s.source + ", a SAS with the permissions " + sp
	}
	return s.source
}

func (s *signature) secrets() []string {
	sig := s.query.Get("sig")
	return []string{sig, url.QueryEscape(sig)}
}

func (s *signature) refused() {}

// scope is what tokens of Entra ID are for.
const scope = "https://storage.azure.com/.default"

// refreshBefore is how long before its end a token is replaced.
const refreshBefore = 5 * time.Minute

// bearer is a token of Entra ID. It keeps the token: not all credentials of azidentity do.
type bearer struct {
	under  azcore.TokenCredential
	source string

	turn  chan struct{} // holds one element unless a caller looks at the token
	token azcore.AccessToken
	seen  web.Seen
}

func newBearer(under azcore.TokenCredential, source string) *bearer {
	b := &bearer{under: under, source: source, turn: make(chan struct{}, 1)}
	b.turn <- struct{}{}
	return b
}

func (b *bearer) authorize(ctx context.Context, r *http.Request, _ time.Time) error {
	select {
	case <-b.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { b.turn <- struct{}{} }()
	if b.token.Token == "" || time.Until(b.token.ExpiresOn) < refreshBefore {
		token, err := b.under.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}})
		if err != nil {
			return err
		}
		b.token = token
		b.seen.Add(token.Token)
	}
	r.Header.Set("Authorization", "Bearer "+b.token.Token)
	return nil
}

func (b *bearer) from() string { return b.source }

func (b *bearer) secrets() []string { return append(environmentSecrets(), b.seen.All()...) }

// refused forgets the token, so that the next request has another one.
func (b *bearer) refused() {
	<-b.turn
	defer func() { b.turn <- struct{}{} }()
	b.token = azcore.AccessToken{}
}

// environmentSecrets are the secrets that azidentity reads.
func environmentSecrets() []string {
	var all []string
	for _, name := range []string{
		"AZURE_CLIENT_SECRET", "AZURE_PASSWORD", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "IDENTITY_HEADER",
	} {
		all = append(all, os.Getenv(name))
	}
	return all
}
