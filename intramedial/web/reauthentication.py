"""The password once more, before what is dangerous.

    @workspace_page(Role.OWNER)      # who may
    @password_again                  # and asks first, unless it was asked for in the last five minutes
    def delete(request, membership): ...

Put it under what says who may open the page, so that a stranger is told nothing. It holds for the page and
for the form on it: whoever opens the page has typed the password when the form shows. A form sent later than
that is kept while the password is asked for, and sent on after it; so let no such form carry a secret.

In tests: `people.session_of(user, password_again=True)`.
"""

from allauth.account.decorators import reauthentication_required

password_again = reauthentication_required
