#include "core/secret.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SPACES     " \t\r\n"
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:%-"
/* Only the end of a longer name is compared, so that the time for a text grows with its length
 * only. */
#define MAX_NAME   64
/* Shorter parts of a secret are everywhere in other words. */
#define LEAST_PART 3
/* From this length on a part is also hidden inside of a word. */
#define LONG_PART  4
#define MAX_PART   512 /* bytes of a decoded part; the rest of a longer one stays encoded */

struct range {
    const char *begin, *end;
};

/* ---- names ---- */

/* Parts of names that leave no doubt. */
static const char *const plain_names[] = {"passw",      "passphrase",    "passcode",
                                          "secret",     "token",         "apikey",
                                          "credential", "authorization", "cookie"};
/* Parts of names of which the value may be a secret. */
static const char *const likely_names[] = {"username", "userid",   "userpw",
                                           "loginuse", "loginpas", "accesskey"};
/* The same if they are a whole word of the name ("user-id"). */
static const char *const likely_words[] = {
    "user", "usr",  "login", "account", "pw",      "pwd",       "pass",     "psk",   "pin",
    "key",  "auth", "sig",   "sid",     "session", "signature", "streamid", "ticket"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool is_part(const char *const parts[], size_t count, const struct range *name)
{
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(parts[i]);
        for (const char *at = name->begin; at + length <= name->end; at++)
            if (strncasecmp(at, parts[i], length) == 0)
                return true;
    }
    return false;
}

static bool is_word(const struct range *word)
{
    const size_t length = (size_t)(word->end - word->begin);
    for (size_t i = 0; i < COUNT(likely_words); i++)
        if (strlen(likely_words[i]) == length &&
            strncasecmp(word->begin, likely_words[i], length) == 0)
            return true;
    /* "streamkey", "dbpwd" */
    return (length > 3 && strncasecmp(word->end - 3, "key", 3) == 0) ||
           (length > 3 && strncasecmp(word->end - 3, "pwd", 3) == 0);
}

static bool is_likely(const struct range *name)
{
    if (is_part(plain_names, COUNT(plain_names), name) ||
        is_part(likely_names, COUNT(likely_names), name))
        return true;
    for (struct range word = {.begin = name->begin}; word.begin < name->end;
         word.begin = word.end + 1) {
        word.end = word.begin;
        while (word.end < name->end && strchr("-_.:%", *word.end) == NULL)
            word.end++;
        if (is_word(&word))
            return true;
    }
    return false;
}

/* Finds the name that ends before `at`, apart from spaces and quotes. */
static struct range name_before(const char *start, const char *at)
{
    struct range name = {.end = at};
    while (name.end > start && strchr(SPACES "\\\"'", name.end[-1]) != NULL)
        name.end--;
    name.begin = name.end;
    while (name.begin > start && name.end - name.begin < MAX_NAME &&
           strchr(NAME_CHARS, name.begin[-1]) != NULL)
        name.begin--;
    return name;
}

/* ---- words ---- */

static bool is_space(char c)
{
    return c != '\0' && strchr(SPACES, c) != NULL;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Returns whether a quote at `at` begins a string, as opposed to an apostrophe. */
static bool begins_string(const char *start, const char *at)
{
    return at == start || strchr(SPACES "=(),;:/[{", at[-1]) != NULL;
}

/* Returns the end of the string whose quote is at `at`: its other quote, or the end of the text. */
static const char *string_end(const char *at)
{
    const char quote = *at++;
    while (*at != '\0' && *at != quote)
        at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
    return at;
}

/* Finds the word at `start`: up to a space that is neither in a string, nor behind a backslash, nor
 * beside an equals sign. The closing quote of a word that ends with a string is left out. */
static struct range word_at(const char *start)
{
    struct range word = {.begin = start, .end = start};
    const char *at = start;
    bool ends_with_string = false, after_equals = false;
    while (*at != '\0') {
        if (is_space(*at)) {
            const char *next = at + strspn(at, SPACES);
            if (*next == '\0' || (*next != '=' && !after_equals))
                break;
            at = next;
            continue;
        }
        ends_with_string = is_quote(*at) && begins_string(start, at);
        after_equals = *at == '=';
        if (ends_with_string)
            at = string_end(at);
        else if (at[0] == '\\' && at[1] != '\0')
            at++;
        ends_with_string = ends_with_string && *at != '\0';
        if (*at != '\0')
            at++;
    }
    word.end = ends_with_string ? at - 1 : at;
    return word;
}

/* Returns the length of a character at `at`, as itself or percent-encoded; 0: it is another one. */
static size_t is_char(const char *at, char c, const char *encoded)
{
    return *at == c ? 1 : strncasecmp(at, encoded, 3) == 0 ? 3 : 0;
}

/* Returns the end of a "://" at `at`, or NULL. */
static const char *scheme_end(const char *at)
{
    const size_t colon = is_char(at, ':', "%3a");
    const size_t slash = colon != 0 ? is_char(at + colon, '/', "%2f") : 0;
    const size_t other = slash != 0 ? is_char(at + colon + slash, '/', "%2f") : 0;
    return other != 0 ? at + colon + slash + other : NULL;
}

/* Skips what is before a value: spaces, the type of GStreamer's "(string)", quotes. */
static const char *value_begin(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    const char *close = at < end && *at == '(' ? memchr(at, ')', (size_t)(end - at)) : NULL;
    at = close != NULL ? close + 1 : at;
    while (at < end && (is_quote(*at) || (at[0] == '\\' && is_quote(at[1]))))
        at++;
    return at;
}

/* Finds a value that belongs to a name, up to the end of the word, or of the line after a colon. */
static struct range find_value(const char *text, const struct range *word)
{
    for (const char *at = word->begin; at < word->end; at++) {
        if ((*at != '=' && *at != ':') || scheme_end(at) != NULL)
            continue;
        const struct range name = name_before(text, at);
        if (*at == '=' && is_likely(&name))
            return (struct range){value_begin(at + 1, word->end), word->end};
        if (*at == ':' && is_part(plain_names, COUNT(plain_names), &name))
            return (struct range){at + 1, at + strcspn(at, "\n")};
    }
    return (struct range){word->end, word->end};
}

/* Finds what is before the last @ of a URI or of USER:PASSWORD@HOST. *ret_query is the URI's query.
 */
static struct range find_user(const struct range *word, struct range *ret_query)
{
    const char *scheme = NULL, *colon = NULL, *equals = NULL, *last = NULL;
    for (const char *at = word->begin; at < word->end; at++) {
        if (scheme == NULL)
            scheme = scheme_end(at);
        if (colon == NULL && scheme == NULL && is_char(at, ':', "%3a") != 0 &&
            (at - word->begin < 3 || strncmp(at - 3, "gst", 3) != 0))
            colon = at;
        if (equals == NULL && colon == NULL && *at == '=')
            equals = at;
        if (is_char(at, '@', "%40") != 0)
            last = at;
    }
    *ret_query = (struct range){word->end, word->end};
    /* A password may have a question mark, and a query an @: then all is hidden. */
    for (const char *at = scheme; at != NULL && at < word->end; at++) {
        const size_t mark = is_char(at, '?', "%3f");
        if (mark == 0)
            continue;
        ret_query->begin = at + mark;
        break;
    }
    if (last != NULL && colon != NULL && colon < last && colon[1] != '/')
        return (struct range){value_begin(equals != NULL ? equals + 1 : word->begin, last), last};
    if (last != NULL && scheme != NULL && scheme < last)
        return (struct range){scheme, last};
    return (struct range){word->end, word->end};
}

/* Finds the secrets of the next word of the text and moves *at behind it. Returns their number. */
static unsigned next_secrets(const char *text, const char **at, struct range ret[2])
{
    unsigned count = 0;
    *at += strspn(*at, SPACES);
    const struct range word = word_at(*at);
    struct range query;
    struct range user = find_user(&word, &query);
    struct range tail = find_value(text, &word);
    if (query.begin < tail.begin)
        tail.begin = query.begin;
    if (tail.begin < user.end) { /* the tail includes the user */
        tail.begin = user.begin < tail.begin ? user.begin : tail.begin;
        user.end = user.begin;
    }
    if (user.begin < user.end)
        ret[count++] = user;
    if (tail.begin < tail.end)
        ret[count++] = tail;
    *at = count > 0 && ret[count - 1].end > word.end ? ret[count - 1].end : word.end;
    if (is_quote(**at))
        ++*at;
    return count;
}

/* ---- hiding ---- */

/* Appends to a text that ends at used within size bytes. */
static size_t append(char *shown, size_t size, size_t used, const char *bytes, size_t length)
{
    const size_t room = size - 1 - used;
    const size_t taken = length < room ? length : room;
    memcpy(shown + used, bytes, taken);
    return used + taken;
}

char *secret_hide(char *shown, size_t size, const char *text)
{
    const char *at = text, *copied = text;
    size_t used = 0;
    while (*at != '\0') {
        struct range secret[2];
        const unsigned count = next_secrets(text, &at, secret);
        for (unsigned i = 0; i < count; i++) {
            used = append(shown, size, used, copied, (size_t)(secret[i].begin - copied));
            used = append(shown, size, used, SECRET_MARK, strlen(SECRET_MARK));
            copied = secret[i].end;
        }
    }
    used = append(shown, size, used, copied, strlen(copied));
    shown[used] = '\0';
    return shown;
}

bool secret_is_in(const char *text)
{
    struct range secret[2];
    const char *at = text;
    while (*at != '\0')
        if (next_secrets(text, &at, secret) > 0)
            return true;
    return false;
}

/* ---- the secrets of a source elsewhere ---- */

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Replaces a part of a secret wherever it is in the text. */
static void hide_part(const char *part, size_t length, char *text, size_t size)
{
    const size_t mark = strlen(SECRET_MARK);
    if (length < LEAST_PART)
        return;
    for (char *at = text; (at = memmem(at, strlen(at), part, length)) != NULL;) {
        const bool is_inside = (at > text && is_alnum(at[-1])) || is_alnum(at[length]);
        if (length < LONG_PART && is_inside) {
            at++;
            continue;
        }
        const size_t rest = strlen(at + length), before = (size_t)(at - text);
        if (before + mark >= size) {
            *at = '\0';
            return;
        }
        const size_t kept = rest < size - 1 - before - mark ? rest : size - 1 - before - mark;
        memmove(at + mark, at + length, kept);
        memcpy(at, SECRET_MARK, mark);
        at[mark + kept] = '\0';
        at += mark;
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Hides a part, and what it is without percent-encoding and backslashes. */
static void hide_forms(const char *begin, const char *end, char *text, size_t size)
{
    char decoded[MAX_PART];
    size_t length = 0;
    hide_part(begin, (size_t)(end - begin), text, size);
    for (const char *at = begin; at < end && length < sizeof decoded; at++) {
        const int high = end - at > 2 && *at == '%' ? hex_digit(at[1]) : -1;
        const int low = high >= 0 ? hex_digit(at[2]) : -1;
        if (low >= 0)
            at += 2;
        else if (*at == '\\' && end - at > 1)
            at++;
        decoded[length++] = low >= 0 ? (char)(16 * high + low) : *at;
    }
    hide_part(decoded, length, text, size);
}

void secret_hide_of(const char *source, char *text, size_t size)
{
    static const char delimiters[] = ":&=@;,";
    for (const char *at = source; *at != '\0';) {
        struct range secret[2];
        const unsigned count = next_secrets(source, &at, secret);
        for (unsigned i = 0; i < count; i++) {
            const char *end = secret[i].end;
            for (const char *part = secret[i].begin; part < end; part++) {
                if (part > secret[i].begin && strchr(delimiters, part[-1]) == NULL)
                    continue;
                hide_forms(part, end, text, size);
                const size_t length = strcspn(part, delimiters);
                if (part + length < end)
                    hide_forms(part, part + length, text, size);
            }
        }
    }
    char *whole = strdup(text);
    secret_hide(text, size, whole != NULL ? whole : "");
    free(whole);
}
