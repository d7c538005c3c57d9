/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Gathers and reads the head of a request. A line ends with CR LF, or with LF alone (RFC 9112
 * section 2.2); everything else that the grammar does not have is refused: who guesses what
 * was meant may guess other than whoever stands between.
 */
#include "request.h"

/* ---- gathering ---- */

static void end_line(struct request_text *text) {
    text->whole = text->complete = !text->line;
    text->has_line = true;
    text->line = 0;
}

size_t request_take(struct request_text *text, const uint8_t *bytes, size_t length) {
    size_t used = 0;
    while (used < length && !text->complete) {
        char c = (char)bytes[used++];
        if (!text->begun && (c == '\r' || c == '\n'))
            continue;
        text->begun = true;
        text->bytes[text->length++] = c;
        if (c == '\n')
            end_line(text);
        else
            text->line += c != '\r';
        text->complete |= text->length == REQUEST_HEAD;
        text->complete |= !text->has_line && text->length > REQUEST_LINE;
    }
    return used;
}

/* ---- reading ---- */

struct cursor {
    char *at, *end;
};

static bool is_token(char c) {
    static const char others[] = "!#$%&'*+-.^_`|~";
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
        return true;
    for (const char *o = others; *o; o++)
        if (*o == c)
            return true;
    return false;
}

static bool is_control(char c) {
    return ((unsigned char)c < ' ' && c != '\t') || c == 0x7f;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Whether a piece is this word, in lower case; and exactly this one. */
static bool is_word(const char *at, size_t length, const char *word) {
    for (; length && *word && lower(*at) == *word; length--, at++)
        word++;
    return !length && !*word;
}

static bool is_exactly(const char *at, size_t length, const char *word) {
    for (; length && *word && *at == *word; length--, at++)
        word++;
    return !length && !*word;
}

/* The next line, without its end; false: there is none. */
static bool next_line(struct cursor *head, struct cursor *line) {
    line->at = head->at;
    while (head->at < head->end && *head->at != '\n')
        head->at++;
    if (head->at == head->end)
        return false;
    line->end = head->at++;
    if (line->end > line->at && line->end[-1] == '\r')
        line->end--;
    return true;
}

static unsigned read_method(struct request *request, const char *at, size_t length) {
    static const char *const others[] = {"POST",    "PUT",   "DELETE", "CONNECT",
                                         "OPTIONS", "TRACE", "PATCH"};
    if (is_exactly(at, length, "GET"))
        return 200;
    request->head = is_exactly(at, length, "HEAD");
    if (request->head)
        return 200;
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (is_exactly(at, length, others[i]))
            return 405;
    return 501;
}

/* HTTP/1.x is understood; 1.0 by itself does not keep a connection. */
static unsigned read_version(struct request *request, const char *at, size_t length) {
    if (length != 8 || !is_exactly(at, 5, "HTTP/") || at[6] != '.' || at[5] < '0' || at[5] > '9' ||
        at[7] < '0' || at[7] > '9')
        return 400;
    request->keep = at[7] != '0';
    return at[5] == '1' ? 200 : 505;
}

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes a path where it lies; false: it is none. */
static bool decode(char *at, const char *end) {
    char *to = at;
    for (; at < end && *at != '?' && *at != '#'; at++) {
        char c = *at;
        if (c == '%') {
            if (end - at < 3 || hex(at[1]) < 0 || hex(at[2]) < 0)
                return false;
            c = (char)(hex(at[1]) << 4 | hex(at[2]));
            at += 2;
        }
        if (!c)
            return false;
        *to++ = c;
    }
    *to = 0; /* over the blank behind it, or before that */
    return true;
}

/* "/path", or "http://host/path" (RFC 9112 section 3.2); of the second only the path counts. */
static unsigned read_target(struct request *request, char *at, const char *end) {
    static char root[] = "/";
    for (const char *c = at; c < end; c++)
        if (is_control(*c) || (unsigned char)*c >= 0x7f)
            return 400;
    if (end - at > 7 && is_word(at, 7, "http://")) {
        for (at += 7; at < end && *at != '/';)
            at++;
        if (at == end) {
            request->path = root;
            return 200;
        }
    }
    if (at == end || *at != '/' || !decode(at, end))
        return 400;
    request->path = at;
    return 200;
}

static unsigned read_line(struct request *request, struct cursor line) {
    char *method = line.at, *target, *version;
    while (line.at < line.end && is_token(*line.at))
        line.at++;
    if (line.at == method || line.at == line.end || *line.at != ' ')
        return 400;
    unsigned status = read_method(request, method, (size_t)(line.at - method));
    target = ++line.at;
    while (line.at < line.end && *line.at != ' ')
        line.at++;
    if (line.at == line.end)
        return 400;
    version = line.at + 1;
    unsigned other = read_version(request, version, (size_t)(line.end - version));
    if (other != 200 || status != 200)
        return other != 200 ? other : status;
    return read_target(request, target, line.at);
}

/* ---- fields ---- */

/* What the fields say that counts here. */
struct fields {
    unsigned hosts, lengths;
    bool encoded;
    uint32_t length;
};

/* Digits alone; beyond what is taken, one more than that. */
static bool read_length(struct fields *fields, struct cursor value) {
    uint32_t length = 0;
    if (value.at == value.end)
        return false;
    for (; value.at < value.end; value.at++) {
        if (*value.at < '0' || *value.at > '9')
            return false;
        if (length <= REQUEST_BODY)
            length = length * 10 + (uint32_t)(*value.at - '0');
    }
    if (fields->lengths++ && fields->length != length)
        return false;
    fields->length = length;
    return true;
}

/* A list of words, of which two count. */
static void read_connection(struct request *request, struct cursor value) {
    while (value.at < value.end) {
        char *word = value.at;
        while (value.at < value.end && is_token(*value.at))
            value.at++;
        size_t length = (size_t)(value.at - word);
        if (is_word(word, length, "close"))
            request->keep = false;
        else if (is_word(word, length, "keep-alive"))
            request->keep = true;
        value.at += value.at < value.end && value.at == word;
    }
}

static struct cursor trim(struct cursor value) {
    while (value.at < value.end && (*value.at == ' ' || *value.at == '\t'))
        value.at++;
    while (value.end > value.at && (value.end[-1] == ' ' || value.end[-1] == '\t'))
        value.end--;
    return value;
}

/* No blank in front of a name, or of the colon (RFC 9112 section 5.1). */
static bool read_field(struct request *request, struct fields *fields, struct cursor line) {
    char *name = line.at;
    while (line.at < line.end && is_token(*line.at))
        line.at++;
    size_t length = (size_t)(line.at - name);
    if (!length || line.at == line.end || *line.at != ':')
        return false;
    line.at++;
    for (const char *c = line.at; c < line.end; c++)
        if (is_control(*c))
            return false;
    struct cursor value = trim(line);
    if (is_word(name, length, "host"))
        fields->hosts++;
    else if (is_word(name, length, "transfer-encoding"))
        fields->encoded = true;
    else if (is_word(name, length, "connection"))
        read_connection(request, value);
    else if (is_word(name, length, "content-length"))
        return read_length(fields, value);
    return true;
}

/* RFC 9112 section 6.3: a body whose end is not known ends the connection. */
static unsigned judge(struct request *request, const struct fields *fields, bool asks_host) {
    request->body = fields->length;
    if (fields->hosts > 1 || (asks_host && !fields->hosts) || (fields->encoded && fields->lengths))
        return 400;
    if (fields->encoded)
        return 501;
    return fields->length > REQUEST_BODY ? 413 : 200;
}

/* After these nobody knows where the next request begins. */
static bool ends_connection(unsigned status, const struct fields *fields) {
    return status == 400 || status == 505 || fields->encoded || fields->length > REQUEST_BODY;
}

void request_read(struct request *request, struct request_text *text) {
    struct cursor head = {text->bytes, text->bytes + text->length}, line;
    struct fields fields = {0};
    *request = (struct request){.status = text->has_line ? 431 : 414, .path = ""};
    if (!text->whole)
        return;
    next_line(&head, &line);
    unsigned status = read_line(request, line);
    bool asks_host = request->keep; /* 1.1 */
    while (status != 400 && next_line(&head, &line) && line.at < line.end)
        if (!read_field(request, &fields, line))
            status = 400;
    unsigned other = judge(request, &fields, asks_host);
    request->status = status == 200 || other == 400 ? other : status;
    if (ends_connection(request->status, &fields))
        request->keep = false;
}

const char *request_reason(unsigned status) {
    switch (status) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 431:
        return "Request Header Fields Too Large";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Unknown";
    }
}
