#include "access.h"

#include <string.h>
#include <strings.h>

static const char *const loopback_names[] = {"localhost", "127.0.0.1", "[::1]", NULL};

bool access_is_name(const char *name)
{
    return *name != '\0' && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789.-")] == '\0';
}

/* Returns whether the text is empty, or ':' and up to five digits. */
static bool is_port(const char *text)
{
    if (*text == '\0')
        return true;
    size_t digits = strspn(text + 1, "0123456789");
    return *text == ':' && digits >= 1 && digits <= 5 && text[1 + digits] == '\0';
}

static bool is_one_of(const char *host, const char *const *names)
{
    for (; *names != NULL; names++) {
        size_t length = strlen(*names);
        if (strncasecmp(host, *names, length) == 0 && is_port(host + length))
            return true;
    }
    return false;
}

/* The page and everything that it loads have one origin. A proxy in front of it may use HTTPS. */
static bool is_same_origin(const char *origin, const char *host)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (unsigned i = 0; i < 2; i++) {
        size_t length = strlen(schemes[i]);
        if (strncasecmp(origin, schemes[i], length) == 0 && strcasecmp(origin + length, host) == 0)
            return true;
    }
    return false;
}

unsigned access_check(const struct access_request *request, const char *const *names)
{
    if (request->host == NULL || request->host_count != 1)
        return 400;
    if (!is_one_of(request->host, loopback_names) && !is_one_of(request->host, names))
        return 421;
    if (request->origin != NULL && !is_same_origin(request->origin, request->host))
        return 403;
    if (request->fetch_site != NULL && !request->is_page &&
        strcasecmp(request->fetch_site, "same-origin") != 0 &&
        strcasecmp(request->fetch_site, "none") != 0)
        return 403;
    return 0;
}

bool access_has_token(const char *authorization, const char *token)
{
    static const char scheme[] = "Bearer ";
    const size_t length = strlen(token);
    unsigned char difference = 0;
    if (authorization == NULL || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *given = authorization + sizeof scheme - 1;
    if (strlen(given) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)(given[i] ^ token[i]);
    return difference == 0;
}

/* A type may have parameters, such as charset=utf-8. Forms of other sites cannot have this type. */
static bool is_json(const char *content_type)
{
    static const char json[] = "application/json";
    const size_t length = sizeof json - 1;
    return content_type != NULL && strncasecmp(content_type, json, length) == 0 &&
           (content_type[length] == '\0' || content_type[length] == ';' ||
            content_type[length] == ' ');
}

/* A number above `most` may have more digits than any type can hold. */
static bool is_at_most(const char *digits, size_t most)
{
    size_t value = 0;
    for (; *digits != '\0' && value <= most; digits++)
        value = value * 10 + (size_t)(*digits - '0');
    return value <= most;
}

unsigned access_check_change(const struct access_change *change, const char *token, size_t most)
{
    const char *length = change->content_length;
    if (change->origin == NULL)
        return 403;
    if (!access_has_token(change->authorization, token))
        return 401;
    if (!is_json(change->content_type))
        return 415;
    if (change->transfer_encoding != NULL || length == NULL || *length == '\0' ||
        length[strspn(length, "0123456789")] != '\0')
        return 411;
    return is_at_most(length, most) ? 0 : 413;
}
