/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "audit-entry.h"

/* Writing an AuditEntry, piece by piece. What does not fit is cut. */

void audit_text_begin(AuditEntry *e, int priority);

/* "FIELD=", to be followed by its value; then the end of the line. max: bytes of the value. A value that is
 * longer is cut at a character's edge, and ends in "...". */
void audit_text_open(AuditEntry *e, const char *field, size_t max);
void audit_text_close(AuditEntry *e);

/* A whole line. */
void audit_text_field(AuditEntry *e, const char *field, const char *value);
void audit_text_field_number(AuditEntry *e, const char *field, int64_t value);
void audit_text_field_unsigned(AuditEntry *e, const char *field, uint64_t value);

/* Pieces of a value. In text from outside, control characters and what is no UTF-8 become "?". */
void audit_text_put(AuditEntry *e, const char *s);
void audit_text_put_number(AuditEntry *e, int64_t n);
void audit_text_put_unsigned(AuditEntry *e, uint64_t n);

/* "12.345 s". */
void audit_text_put_time(AuditEntry *e, usec_t usec);

/* The same without needless zeros, as a person gives a span: "120 s". */
void audit_text_put_span(AuditEntry *e, usec_t usec);

/* The milestones whose bits are set: "a, b and c". */
void audit_text_put_names(AuditEntry *e, const MilestoneCondition *c, uint32_t bits);
