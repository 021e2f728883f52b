/* Looks for several templates with fine texture at the cost of one. Pure. match.c uses it where
 * blocks would lose what distinguishes the templates.
 *
 * A template's *details* are what is left when the mean of each square of 4 x 4 pixels is
 * subtracted. They hardly resemble anything else. So if the details of all templates are added up
 * and multiplied with the picture, the sums of products are large wherever one of the templates is.
 * Only there is each template scored by itself.
 *
 * A place is certain if no place that was not scored could be better. If details are the share s of
 * a template's variation, any place with at least the score sqrt(1 - s) + 0.4 sqrt(s) has details
 * that correlate by 0.4 or more with those of the template (Cauchy and Schwarz). The number of
 * templates is limited, so that the others add little there by chance. If there are more peaks than
 * can be scored, no place is certain. This is not proven where templates differ in size: peaks are
 * judged by the deviation of the smallest window, which may exceed that of the template.
 *
 * Threads: as match.h. */
#ifndef FFTD_ESTIMATORS_MATCH_SIEVE_H
#define FFTD_ESTIMATORS_MATCH_SIEVE_H

#include "estimators/match_sheet.h"

#define MATCH_SIEVE_LEAST 3u /* templates for which it is worth while */

struct match_sieve;

/* Takes as many of the `count` shapes as can be looked for together, and sets their places in the
 * list to NULL. They must live as long as the sieve. The sheet must be ready for a search. *ret is
 * NULL if fewer than MATCH_SIEVE_LEAST can. -ENOMEM. */
int match_sieve_create(struct match_sieve **ret, const struct match_sheet *sheet,
                       const struct match_shape **shapes, unsigned count);
void match_sieve_destroy(struct match_sieve *sieve); /* NULL is allowed */

/* Writes the place and the score of each shape that it has taken, with the index that this had in
 * the list. Those that are not certain get the score NaN; the others of the list are left alone. */
void match_sieve_find(const struct match_sieve *sieve, struct match_sheet *sheet,
                      struct match_place *ret);

#endif
